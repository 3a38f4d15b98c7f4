// One run: facts, actions, attempts, events and records.

import { create, download, get, isAbort, list, picture, post } from "./api.js";
import { announce, badge, busy, elapsed, emptyState, facts, foreign, h, heading, loading, objectTable, outLink, problem, section, setText, toast, when } from "./dom.js";
import { count, duration, plain, shortId, shortUrl, words } from "./format.js";
import { failureText, percentOf, strategyText } from "./page-runs.js";
import { follow } from "./sse.js";
import { ACTIONS, hasEnded, stateOf, toneOfLevel } from "./states.js";

const FOUND = "\u2063found_at"; // the time of a record, beside whatever fields it has
const SETTLE_MS = 300;
const PROGRESS_EVERY_MS = 5000;
const MOST_EVENTS = 2000; // on the screen; a crawl may have many more
const RECORDS = 10; // at first; then MORE_RECORDS at a time
const MORE_RECORDS = 50;

function runLink(id) {
  return id ? h("a", { href: `#/runs/${encodeURIComponent(id)}` }, shortId(id)) : null;
}

function factList(run) {
  const target = run.target_url ?? run.payload?.target_url;
  const isDue = run.status === "queued" && run.due_at;
  return facts([
    ["Target", target ? outLink(target) : null],
    ["Job", run.job_id ? h("a", { href: `#/runs?job_id=${encodeURIComponent(run.job_id)}` }, `${shortId(run.job_id)} (all its runs)`) : null],
    ["Kind", run.kind === "crawl" ? h("a", { href: `#/crawls/${encodeURIComponent(run.id)}` }, "crawl (its pages)") : run.kind],
    ["Priority", run.priority],
    ["Strategy", strategyText(run)],
    ["Attempt", `${run.attempt ?? "–"} of ${run.max_attempts ?? "–"}`],
    ["Created", when(run.created_at)],
    [isDue ? "Due" : "Started", isDue ? when(run.due_at) : when(run.started_at)],
    ["Finished", run.finished_at ? when(run.finished_at) : null],
    ["Duration", elapsed(run.started_at, run.finished_at)],
    ["Part of", runLink(run.parent_id)],
    ["Retry of", runLink(run.retry_of)],
    ["Run", h("code", { class: "id" }, String(run.id))],
  ]);
}

function verdict(run) {
  if (run.failure_code && run.status !== "cancelled") {
    return h("div", { class: "notice", "data-tone": run.status === "failed" ? "bad" : "warn" },
      h("p", { class: "foreign" }, h("strong", {}, failureText(run))),
      run.error_message && run.error_message !== run.failure_detail ? h("p", {}, foreign(run.error_message)) : null);
  }
  if (run.status === "waiting_for_human") {
    return h("div", { class: "notice", "data-tone": "attention" }, h("p", {}, "The site asks for a person: a captcha, a login or a field nobody could find. Deal with it, then resume the run."));
  }
  return null;
}

function progressBar(run) {
  const progress = run.progress ?? {};
  const isOver = hasEnded(run.status);
  const isKnown = Number.isFinite(progress.percent) && (progress.total > 0 || progress.percent > 0);
  if (isOver && !(isKnown && progress.total > 1)) return null;
  const parts = [];
  if (progress.total > 0) parts.push(`${plain(progress.done ?? 0)} of ${plain(progress.total)}`);
  if (progress.failed > 0) parts.push(`${plain(progress.failed)} failed`);
  if (progress.skipped > 0) parts.push(`${plain(progress.skipped)} skipped`);
  if (run.status === "running" && Number.isFinite(progress.eta_s)) parts.push(`about ${duration(progress.eta_s * 1000)} left`);
  const bar = h("progress", { max: 100, "aria-label": "Progress" });
  if (isKnown) bar.value = progress.percent;
  else if (run.status !== "running") bar.value = 0;
  const text = parts.join(" · ") || (run.status === "running" ? "Working" : stateOf(run.status).label);
  return h("div", { class: "progress", "data-tone": stateOf(run.status).tone }, bar,
    h("p", {}, h("span", {}, text), isKnown ? h("span", {}, `${Math.floor(progress.percent)} %`) : null));
}

function statList({ stats, status }) {
  const pairs = [];
  for (const [key, value] of Object.entries(stats ?? {})) {
    if (value && typeof value === "object" && !Array.isArray(value)) {
      for (const [inner, deep] of Object.entries(value)) pairs.push([`${words(key)}: ${words(inner).toLowerCase()}`, foreign(deep)]);
    } else pairs.push([words(key), foreign(value)]);
  }
  return pairs.length ? facts(pairs) : h("p", { class: "faint" }, hasEnded(status) ? "Nothing was measured." : "Nothing measured yet.");
}

function attemptTable({ engine_attempts: attempts, status }) {
  if (!Array.isArray(attempts) || attempts.length === 0) return h("p", { class: "faint" }, hasEnded(status) ? "No attempt was made." : "No attempt has ended yet.");
  return objectTable("Attempts", attempts, { first: ["attempt", "strategy", "outcome", "failure_code", "detail", "failure_detail", "http_status", "message"], maxColumns: 9 });
}

/** The part above the timeline, rendered again whenever the run changes. */
class Summary {
  constructor(run, onChange) {
    this.onChange = onChange;
    this.title = h("span", {});
    this.badge = h("span", {});
    this.buttons = h("div", { class: "row" });
    this.error = h("div", {});
    this.top = h("div", {});
    this.attempts = h("div", {});
    this.stats = h("div", {});
    this.lastText = "";
    this.actions = "";
    this.show(run);
  }

  show(run) {
    const text = JSON.stringify(run);
    if (text === this.lastText) return;
    this.lastText = text;
    this.run = run;
    const target = run.target_url ?? run.payload?.target_url;
    setText(this.title, target ? shortUrl(target, 60) : `Run ${shortId(run.id)}`);
    document.title = `${stateOf(run.status).label} · ${target ? shortUrl(target, 40) : "Run"} · Corral`;
    this.badge.replaceChildren(badge(run.status, percentOf(run)));
    this.showButtons();
    this.top.replaceChildren(...[verdict(run), progressBar(run), factList(run)].filter(Boolean));
    this.attempts.replaceChildren(attemptTable(run));
    this.stats.replaceChildren(statList(run));
  }

  showButtons() {
    const names = stateOf(this.run.status).actions;
    if (names.join() === this.actions) return; // keeps the focus where it is
    this.actions = names.join();
    this.buttons.replaceChildren(...names.map((name) => {
      const { label, style } = ACTIONS[name];
      const button = h("button", { type: "button", class: style || null }, label);
      button.addEventListener("click", () => busy(button, () => this.act(name)));
      return button;
    }));
  }

  async act(name) {
    const path = `/jobs/runs/${encodeURIComponent(this.run.id)}/${name}`;
    try {
      const answer = name === "retry" ? await create(path) : await post(path);
      this.error.replaceChildren();
      toast(ACTIONS[name].done);
      if (name === "retry" && answer?.id && answer.id !== this.run.id) location.hash = `#/runs/${encodeURIComponent(answer.id)}`;
      else if (answer?.id) this.show(answer);
    } catch (error) {
      if (!isAbort(error)) this.error.replaceChildren(problem(error));
    }
    this.onChange();
  }
}

/** The events, newest on top, without duplicates. */
class Timeline {
  constructor() {
    this.seen = new Set();
    this.last = 0;
    this.list = h("ol", { class: "timeline", reversed: true });
    this.note = h("p", { class: "faint" }, "Nothing has happened yet.");
    this.node = h("div", {}, this.note, this.list);
  }

  /** Add an event; return true if it is new. */
  add(event) {
    if (!Number.isInteger(event?.seq) || this.seen.has(event.seq)) return false;
    this.seen.add(event.seq);
    const item = this.item(event);
    if (event.seq > this.last) this.list.prepend(item);
    else this.list.insertBefore(item, [...this.list.children].find((other) => Number(other.dataset.seq) < event.seq) ?? null);
    this.last = Math.max(this.last, event.seq);
    while (this.list.children.length > MOST_EVENTS) this.list.lastChild.remove();
    const hidden = this.seen.size - this.list.children.length;
    this.note.hidden = hidden === 0;
    setText(this.note, `${count(hidden, "older event")} not shown; \`corral events\` has them all.`);
    return true;
  }

  item(event) {
    const meta = Object.entries(event.meta ?? {}).filter(([, value]) => value !== null && value !== "");
    return h("li", { "data-tone": toneOfLevel(event.level), "data-seq": event.seq, value: event.seq },
      h("div", { class: "line" }, h("strong", { class: "foreign" }, String(event.message ?? "")), when(event.created_at, { clock: true })),
      meta.length ? h("dl", { class: "meta" }, meta.map(([key, value]) => h("div", {}, h("dt", {}, words(key)), h("dd", {}, foreign(value))))) : null);
  }
}

class Records {
  constructor(path, signal) {
    Object.assign(this, { path, signal, items: [], next: null, isShown: false });
    this.more = h("button", { type: "button", hidden: true, onclick: () => busy(this.more, () => this.load(this.next)) }, "Load more");
    this.box = h("div", {}, loading("records"));
    this.node = h("div", {}, this.box, h("div", { class: "row center" }, this.more));
  }

  /** Reload, unless the user has loaded further pages. */
  async refresh() {
    if (this.items.length <= RECORDS) await this.load();
  }

  async load(cursor = null) {
    try {
      const page = await list(this.path, { limit: cursor ? MORE_RECORDS : RECORDS, cursor }, { signal: this.signal });
      if (!cursor && this.isShown && page.items.length === this.items.length && page.items[0]?.id === this.items[0]?.id) return;
      this.isShown = true;
      this.items = cursor ? [...this.items, ...page.items] : page.items;
      this.next = page.next;
      this.more.hidden = !this.next;
      const rows = this.items.map(({ data, created_at: found }) => ({ ...(data && typeof data === "object" ? data : { value: data }), [FOUND]: found }));
      this.box.replaceChildren(rows.length ? objectTable("Records", rows, { first: [FOUND], maxColumns: 9, label: (key) => (key === FOUND ? "Found" : key) }) : emptyState("No records", "What a run finds appears here."));
    } catch (error) {
      if (!isAbort(error)) this.box.replaceChildren(problem(error, () => { this.isShown = false; this.load(); }));
    }
  }
}

/** Screenshots of failed attempts; empty if none was stored. */
class Artifacts {
  constructor(path, signal) {
    Object.assign(this, { path, signal, lastText: "" });
    this.box = h("div", { class: "artifacts" });
    this.node = section("What the page looked like", this.box);
    this.node.hidden = true;
  }

  async load() {
    try {
      const items = await get(this.path, {}, { signal: this.signal });
      const ids = items.map(({ id }) => id).join();
      if (ids === this.lastText) return;
      this.lastText = ids;
      this.node.hidden = items.length === 0;
      this.box.replaceChildren(...items.map((item) => (item.kind === "screenshot" ? this.screenshot(item) : this.file(item))));
    } catch (error) {
      if (!isAbort(error)) this.box.replaceChildren(problem(error));
    }
  }

  screenshot(item) {
    const image = h("img", { alt: `Screenshot of attempt ${item.attempt}`, width: 640, height: 360, loading: "lazy" });
    picture(`${this.path}/${item.id}`, { signal: this.signal })
      .then((source) => image.setAttribute("src", source))
      .catch((error) => { if (!isAbort(error)) image.replaceWith(problem(error)); });
    return h("figure", {}, image, h("figcaption", { class: "faint" }, `Attempt ${item.attempt}`));
  }

  file(item) {
    const button = h("button", { type: "button" }, `Save the HTML of attempt ${item.attempt}`);
    const save = () => download(`${this.path}/${item.id}`, `${item.id}.html.txt`, { signal: this.signal }).catch((error) => { if (!isAbort(error)) toast(error.message, "bad"); });
    button.addEventListener("click", () => busy(button, save));
    return h("p", {}, button);
  }
}

export async function showRun(view, { id, signal, setLive }) {
  const path = `/jobs/runs/${encodeURIComponent(id)}`;
  view.append(heading("Run"), loading("run"));
  let run;
  try {
    run = await get(path, {}, { signal });
  } catch (error) {
    if (error.status !== 404 && error.status !== 422) throw error;
    view.replaceChildren(heading("Run not found"), problem(error), h("p", {}, h("a", { href: "#/runs" }, "See all runs")));
    return;
  }

  const records = new Records(`${path}/records`, signal);
  const artifacts = new Artifacts(`${path}/artifacts`, signal);
  const refresh = refresher(async () => {
    const before = run.status;
    run = await get(path, {}, { signal });
    summary.show(run);
    if (before !== run.status) announce(`Run is now ${stateOf(run.status).label}`, { everyMs: 0 });
    if (before !== run.status || run.status === "running") await records.refresh();
    if (before !== run.status) await artifacts.load();
  }, signal);
  const summary = new Summary(run, refresh);
  const timeline = new Timeline();
  view.replaceChildren(
    h("p", { class: "crumb" }, h("a", { href: "#/runs" }, "Runs"), " / ", shortId(id)),
    h("div", { class: "heading" }, h("div", { class: "row" }, h("h1", { tabindex: "-1", class: "foreign" }, summary.title), summary.badge), summary.buttons),
    summary.error,
    h("section", { class: "card", "aria-label": "Summary" }, summary.top),
    section("Records", records.node),
    artifacts.node,
    h("div", { class: "columns" },
      h("div", {}, section("Attempts", summary.attempts), section("Stats", summary.stats)),
      section("Timeline", timeline.node)));
  view.querySelector("h1").focus({ preventScroll: true });

  records.load();
  artifacts.load();
  for (const event of (await list(`${path}/events`, { limit: 1000 }, { signal })).items) timeline.add(event);
  if (hasEnded(run.status)) {
    refresh(); // the run may have ended between the two answers
    return;
  }
  const beat = setInterval(() => { if (!document.hidden && !hasEnded(run.status)) refresh(); }, PROGRESS_EVERY_MS);
  signal.addEventListener("abort", () => clearInterval(beat));
  await follow(`${path}/events/stream`, {
    signal,
    lastId: timeline.last ? String(timeline.last) : "",
    onStatus: setLive,
    onEvent: (type, event) => { if (type !== "run_event" || timeline.add(event)) refresh(); },
    onEnd: async () => {
      await refresh.now();
      return !hasEnded(run.status);
    },
  });
}

/** Return a function whose calls come in bursts: the work runs once per burst, and never concurrently. */
function refresher(work, signal) {
  let timer = 0;
  let current = null;
  const now = async () => {
    clearTimeout(timer);
    timer = 0;
    while (current) await current;
    current = work().catch(() => {}).finally(() => { current = null; });
    await current;
  };
  const later = () => { if (!timer && !signal.aborted) timer = setTimeout(now, SETTLE_MS); };
  signal.addEventListener("abort", () => clearTimeout(timer));
  later.now = now;
  return later;
}
