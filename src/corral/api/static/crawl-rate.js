// Estimate the rate of a crawl and when it may end, in the same way as the command line.

const OVER_MS = 10_000;

export class Rate {
  constructor() {
    this.seen = [];
  }

  /** Add a sample; return the rates over the last seconds, or null without an earlier sample to compare with. */
  see({ counts }, moment) {
    const fetched = counts.done + counts.failed;
    const known = counts.discovered - counts.skipped;
    this.seen.push({ moment, fetched, known });
    while (moment - this.seen[0].moment > OVER_MS) this.seen.shift();
    const first = this.seen[0];
    const seconds = (moment - first.moment) / 1000;
    if (seconds < 1) return null;
    const pages = fetched - first.fetched;
    return { pagesPerS: pages / seconds, newPerPage: pages > 0 ? (known - first.known) / pages : 0 };
  }
}

/** Return the minimum and maximum of seconds left: if no page brings new links, and if pages bring as many as now. */
export function etaOf({ counts, plan, duration_seconds: took }, pace) {
  if (!pace || pace.pagesPerS <= 0) return null;
  const room = Math.max(0, plan.max_pages - counts.done - counts.failed);
  const waiting = Math.min(counts.pending + counts.leased, room);
  const grows = pace.newPerPage < 0 || pace.newPerPage >= 1;
  const expected = grows ? (waiting ? room : 0) : waiting / (1 - pace.newPerPage);
  const left = plan.max_seconds ? Math.max(0, plan.max_seconds - (took ?? 0)) : Infinity;
  const low = Math.min(waiting / pace.pagesPerS, left);
  const high = Math.min(Math.min(expected, room) / pace.pagesPerS, left);
  return [low, Math.max(low, high)];
}
