// The list of runs, newest first, updated by the stream of all events.

import { get, isAbort, list } from "./api.js";
import { announce, badge, busy, cell, command, elapsed, emptyState, h, heading, loading, problem, row, table, targetLink, when } from "./dom.js";
import { clip, count, parseTime, shortId } from "./format.js";
import { follow } from "./sse.js";
import { STATES, stateOf } from "./states.js";

const PAGE = 50;
const SETTLE_MS = 400; // events come in bursts: refresh once
const ONE_BY_ONE = 5; // more changed runs than this: fetch the first page instead
const COLUMNS = ["State", "Target", "Kind", "Strategy", "Attempt", "Failure", "Started", "Duration"];

export function strategyText(run) {
  const { requested_strategy: requested, resolved_strategy: used } = run;
  return !used || requested === used ? String(requested ?? "–") : `${requested} → ${used}`;
}

export function failureText(run) {
  if (!run.failure_code || run.failure_code === run.status) return "";
  const detail = run.failure_detail ?? run.error_message;
  return detail ? `${run.failure_code}: ${detail}` : run.failure_code;
}

export function percentOf(run) {
  const percent = run.progress?.percent;
  return run.status === "running" && Number.isFinite(percent) && percent > 0 ? `${Math.floor(percent)} %` : "";
}

function runRow(run) {
  const failure = failureText(run);
  const target = run.target_url ?? run.payload?.target_url;
  const href = `#/${run.kind === "crawl" ? "crawls" : "runs"}/${encodeURIComponent(run.id)}`;
  return row({ "data-id": run.id },
    cell("State", h("a", { href, class: "state", "aria-label": `${run.status}, show run ${shortId(run.id)}` }, badge(run.status, percentOf(run)))),
    cell("Target", target ? targetLink(target, href) : h("span", { class: "faint" }, run.job_id ? `job ${shortId(run.job_id)}` : "–")),
    cell("Kind", h("span", { class: "foreign" }, String(run.kind ?? "–"))),
    cell("Strategy", strategyText(run)),
    cell("Attempt", `${run.attempt ?? "–"}/${run.max_attempts ?? "–"}`),
    cell("Failure", failure ? h("span", { class: "foreign failure", "data-tone": stateOf(run.status).tone, title: clip(run.error_message ?? failure, 500) }, clip(failure, 90)) : h("span", { class: "faint" }, "–")),
    cell("Started", run.started_at ? when(run.started_at) : h("span", { class: "faint" }, "not yet")),
    cell("Duration", elapsed(run.started_at, run.finished_at)));
}

function newestFirst(a, b) {
  return (parseTime(b.created_at) ?? 0) - (parseTime(a.created_at) ?? 0) || (a.id < b.id ? 1 : -1);
}

function noRuns(filter) {
  if (filter.status || filter.job_id) {
    return emptyState("No run matches", h("p", {}, h("a", { href: "#/runs" }, "Show all runs")));
  }
  return emptyState("No runs yet", "Scrape a page from the command line:", command("corral scrape URL --fields title"),
    h("p", {}, "or ", h("a", { href: "#/jobs" }, "create a job"), " and run it. It appears here at once."));
}

/** The visible rows and their runs. */
class RunTable {
  constructor(filter, box) {
    this.filter = filter;
    this.box = box;
    this.runs = new Map();
    this.rows = new Map();
    this.next = null;
    this.body = null;
  }

  accepts(run) {
    if (this.filter.status && run.status !== this.filter.status) return false;
    if (this.filter.job_id && run.job_id !== this.filter.job_id) return false;
    return true;
  }

  /** Runs older than the last row belong to pages that are not loaded. */
  isInView(run) {
    if (this.runs.has(run.id) || !this.next) return true;
    const oldest = [...this.runs.values()].sort(newestFirst).at(-1);
    return !oldest || newestFirst(run, oldest) < 0;
  }

  merge(runs) {
    for (const run of runs) {
      if (this.accepts(run) && this.isInView(run)) this.put(run);
      else this.drop(run.id);
    }
    this.arrange();
  }

  add(runs) {
    runs.forEach((run) => this.put(run));
    this.arrange();
  }

  put(run) {
    const before = this.runs.get(run.id);
    if (before && JSON.stringify(before) === JSON.stringify(run)) return;
    const fresh = runRow(run);
    const old = this.rows.get(run.id);
    if (old?.isConnected) {
      const hadFocus = old.contains(document.activeElement) ? [...old.querySelectorAll("a")].indexOf(document.activeElement) : -1;
      old.replaceWith(fresh);
      if (before.status !== run.status) fresh.classList.add("changed");
      fresh.querySelectorAll("a")[hadFocus]?.focus({ preventScroll: true });
    }
    this.runs.set(run.id, run);
    this.rows.set(run.id, fresh);
  }

  drop(id) {
    this.rows.get(id)?.remove();
    this.rows.delete(id);
    this.runs.delete(id);
  }

  arrange() {
    if (this.runs.size === 0) {
      this.body = null;
      this.box.replaceChildren(noRuns(this.filter));
      return;
    }
    if (!this.body) {
      const whole = table("Runs, newest first", COLUMNS, [], "runs");
      this.body = whole.querySelector("tbody");
      this.box.replaceChildren(whole);
    }
    const wanted = [...this.runs.values()].sort(newestFirst).map((run) => this.rows.get(run.id));
    wanted.forEach((node, index) => {
      if (this.body.children[index] !== node) this.body.insertBefore(node, this.body.children[index] ?? null);
    });
  }
}

function filters(filter) {
  const options = [h("option", { value: "" }, "All states"),
    ...Object.entries(STATES).map(([value, { label }]) => h("option", { value, selected: value === filter.status }, label))];
  const select = h("select", {
    id: "state-filter",
    onchange: (event) => {
      const query = new URLSearchParams(Object.entries({ ...filter, status: event.target.value }).filter(([, value]) => value));
      location.hash = `#/runs${query.size ? `?${query}` : ""}`;
    },
  }, options);
  return h("div", { class: "row" },
    filter.job_id ? h("a", { class: "chip", href: "#/runs", "aria-label": "Show the runs of all jobs" }, `job ${shortId(filter.job_id)} ×`) : null,
    h("label", { for: "state-filter", class: "unseen" }, "State"), select);
}

export async function showRuns(view, { query, signal, setLive }) {
  const filter = { status: query.get("status") ?? "", job_id: query.get("job_id") ?? "" };
  const box = h("div", {}, loading("runs"));
  const older = h("button", { type: "button", hidden: true }, "Load older");
  view.append(heading("Runs", filters(filter)), box, h("div", { class: "row center" }, older));
  const runs = new RunTable(filter, box);

  const firstPage = () => list("/jobs/runs", { limit: PAGE, ...filter }, { signal });
  const first = await firstPage();
  runs.next = first.next;
  runs.add(first.items);
  older.hidden = !runs.next;
  older.addEventListener("click", () => busy(older, async () => {
    try {
      const page = await list("/jobs/runs", { limit: PAGE, ...filter, cursor: runs.next }, { signal });
      runs.next = page.next;
      runs.add(page.items);
      older.hidden = !runs.next;
      announce(`${count(page.items.length, "older run")} loaded`, { everyMs: 0 });
    } catch (error) {
      if (!isAbort(error)) box.prepend(problem(error));
    }
  }));

  const changed = new Changes(runs, firstPage, signal);
  await follow("/events/stream", {
    signal,
    onStatus: setLive,
    onOpen: () => changed.lookAtAll(), // what happened between the first page and the stream
    onEvent: (type, event) => { if (event?.run_id) changed.add(event.run_id); },
  });
}

/** Collects the ids of runs that changed, and fetches them together a moment later. */
class Changes {
  constructor(runs, firstPage, signal) {
    Object.assign(this, { runs, firstPage, signal, ids: new Set(), all: false, timer: 0, isFetching: false });
    signal.addEventListener("abort", () => clearTimeout(this.timer));
  }

  add(id) {
    this.ids.add(id);
    this.schedule();
  }

  lookAtAll() {
    this.all = true;
    this.schedule();
  }

  schedule() {
    if (!this.timer && !this.isFetching) this.timer = setTimeout(() => this.fetch(), SETTLE_MS);
  }

  async fetch() {
    const ids = this.ids;
    const all = this.all || ids.size > ONE_BY_ONE;
    Object.assign(this, { ids: new Set(), all: false, timer: 0, isFetching: true });
    try {
      await this.refresh(ids, all);
      if (ids.size) announce(`${count(ids.size, "run")} updated`);
    } catch (error) {
      if (isAbort(error) || this.signal.aborted) return;
      ids.forEach((id) => this.ids.add(id)); // the next event tries again
    } finally {
      this.isFetching = false;
    }
    if ((this.ids.size || this.all) && !this.signal.aborted) this.schedule();
  }

  async refresh(ids, all) {
    let single = [...ids];
    if (all) {
      const { items, next } = await this.firstPage();
      if (this.runs.runs.size === 0) this.runs.next = next;
      this.runs.merge(items);
      const fresh = new Set(items.map((run) => run.id));
      single = single.filter((id) => !fresh.has(id) && this.runs.runs.has(id)).slice(0, PAGE);
    }
    for (let start = 0; start < single.length; start += ONE_BY_ONE) {
      const some = single.slice(start, start + ONE_BY_ONE);
      this.runs.merge((await Promise.all(some.map((id) => this.one(id)))).filter(Boolean));
    }
  }

  async one(id) {
    try {
      return await get(`/jobs/runs/${encodeURIComponent(id)}`, {}, { signal: this.signal });
    } catch (error) {
      if (error.status !== 404) throw error;
      this.runs.drop(id);
      return null;
    }
  }
}
