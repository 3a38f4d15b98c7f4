// One crawl: progress, pages by state and reason, and actions.

import { get, isAbort, post, save } from "./api.js";
import { announce, badge, busy, cell, elapsed, emptyState, facts, foreign, h, heading, loading, outLink, problem, row, section, setText, table, toast, when } from "./dom.js";
import { bytes, clip, count, duration, durationRange, plain, shortId, shortUrl, words } from "./format.js";
import { etaOf, Rate } from "./crawl-rate.js";
import { every } from "./poll.js";
import { ACTIONS, hasEnded, stateOf } from "./states.js";

const LOOK_EVERY_MS = 1000;
const REASONS_EVERY_MS = 4000;
const PAGES = 50;
const PAGE_STATES = { failed: "Failed", missing: "Missing", deferred: "Held back", skipped: "Skipped", done: "Done", pending: "Waiting", leased: "Being read" };
const PAGE_TONES = { failed: "bad", missing: "muted", deferred: "muted", skipped: "muted", done: "good", pending: "neutral", leased: "info" };
const FORMATS = ["json", "jsonl", "csv", "parquet"];

function planFacts(crawl) {
  const { plan } = crawl;
  const rules = (list) => (list?.length ? list.join(", ") : null);
  return facts([
    ["Depth", plan.max_depth],
    ["Pages at most", plan.max_pages],
    ["Pages at once", plan.concurrency],
    ["Time at most", plan.max_seconds ? duration(plan.max_seconds * 1000) : null],
    ["Tries for each page", plan.retry_attempts],
    ["Scope", plan.scope?.mode],
    ["Only", rules(plan.scope?.include)],
    ["Never", rules(plan.scope?.exclude)],
    ["robots.txt", plan.respect_robots ? "respected" : "not asked"],
    ["Partial results", plan.partial_results_ok ? "of use" : "count as failed"],
    ["Created", when(crawl.created_at)],
    ["Started", crawl.started_at ? when(crawl.started_at) : null],
    ["Finished", crawl.completed_at ? when(crawl.completed_at) : null],
    ["Task", h("code", { class: "id" }, crawl.task_id)],
  ], "narrow");
}

function notice(crawl) {
  const lines = [];
  if (crawl.error_message) lines.push(h("p", { class: "foreign" }, h("strong", {}, crawl.error_message)));
  if (crawl.stopped_by) lines.push(h("p", {}, `It was stopped by its ${crawl.stopped_by}: ${count(crawl.counts.pending, "more page is", "more pages are")} known.`));
  return lines.length ? h("div", { class: "notice", "data-tone": stateOf(crawl.run_status).tone }, lines) : null;
}

function remaining(crawl, pace) {
  if (crawl.run_status !== "running") return "";
  const range = etaOf(crawl, pace) ?? (crawl.eta_min_seconds === null ? null : [crawl.eta_min_seconds, crawl.eta_max_seconds]);
  return range && crawl.counts.pending + crawl.counts.leased > 0 ? `${durationRange(range[0] * 1000, range[1] * 1000)} left` : "";
}

/** Tiles and bar, created once, so that a changed number does not move the layout. */
class Progress {
  constructor() {
    this.bar = h("progress", { max: 100, "aria-label": "Progress" });
    this.text = h("span", {});
    this.percent = h("span", {});
    this.now = h("p", { class: "now foreign" });
    this.values = {};
    this.tiles = h("div", { class: "tiles flat" }, ["Done", "Failed", "Missing", "Skipped", "Waiting", "Pages a second", "Received"].map((name) => {
      this.values[name] = h("b", {}, "–");
      return h("div", { class: "tile" }, this.values[name], h("span", {}, name));
    }));
    this.node = h("div", { class: "progress" }, this.bar, h("p", {}, this.text, this.percent), this.now);
  }

  show(crawl, pace) {
    const { counts } = crawl;
    const isRunning = crawl.run_status === "running";
    this.node.dataset.tone = stateOf(crawl.run_status).tone;
    this.bar.value = crawl.progress;
    const fetched = counts.done + counts.failed + counts.missing;
    const known = Math.min(fetched + counts.pending + counts.leased + counts.deferred, crawl.plan.max_pages);
    const parts = [`${plain(fetched)} of ${plain(Math.max(known, fetched))} known pages`, remaining(crawl, pace)];
    setText(this.text, parts.filter(Boolean).join(" · "));
    setText(this.percent, `${Math.floor(crawl.progress)} %`);
    this.now.hidden = !crawl.current_item;
    setText(this.now, crawl.current_item ? `Now: ${clip(crawl.current_item, 300)}` : "");
    const rate = isRunning ? (pace?.pagesPerS ?? crawl.pages_per_second) : crawl.pages_per_second;
    const texts = {
      Done: plain(counts.done), Failed: plain(counts.failed), Missing: plain(counts.missing), Skipped: plain(counts.skipped), Waiting: plain(counts.pending + counts.leased + counts.deferred),
      "Pages a second": rate === null ? "–" : plain(rate >= 10 ? Math.round(rate) : Number(rate.toFixed(1))), Received: bytes(crawl.bytes),
    };
    for (const [name, value] of Object.entries(texts)) setText(this.values[name], value);
    this.values.Failed.parentElement.dataset.tone = counts.failed ? "bad" : "muted";
  }
}

function actionsOf(crawl) {
  return stateOf(crawl.run_status).actions.filter((name) => name !== "retry");
}

/** Pause, resume, cancel, keep; rendered again only when they change, so that the focus stays. */
class Buttons {
  constructor(id, onChange) {
    Object.assign(this, { id, onChange, lastKey: "" });
    this.node = h("div", { class: "row" });
    this.error = h("div", {});
  }

  show(crawl) {
    const names = actionsOf(crawl);
    const key = `${names.join()} ${crawl.kept}`;
    if (key === this.lastKey) return;
    this.lastKey = key;
    const buttons = names.map((name) => this.button(ACTIONS[name].label, ACTIONS[name].style, () => post(`/jobs/runs/${encodeURIComponent(this.id)}/${name}`), ACTIONS[name].done.replace("Run", "Crawl")));
    buttons.push(this.button(crawl.kept ? "Do not keep" : "Keep", "quiet", () => post(`/scraping/tasks/${encodeURIComponent(this.id)}/keep`, { keep: !crawl.kept }), crawl.kept ? "It is forgotten after its time" : "It is kept"));
    if (hasEnded(crawl.status)) buttons.unshift(h("a", { class: "button primary", href: `#/crawls?again=${encodeURIComponent(this.id)}` }, "Crawl again"));
    this.node.replaceChildren(...buttons);
  }

  button(label, style, act, done) {
    const button = h("button", { type: "button", class: style || null }, label);
    button.addEventListener("click", () => busy(button, async () => {
      try {
        await act();
        this.error.replaceChildren();
        toast(done);
      } catch (error) {
        if (!isAbort(error)) this.error.replaceChildren(problem(error));
      }
      this.onChange();
    }));
    return button;
  }
}

/** "bad_response:http_404" → "Bad response: http 404". */
function reasonText(reason) {
  return words(reason.replace(":", ": "));
}

function reasonTable(reasons, onChoose) {
  if (!reasons.length) return h("p", { class: "faint" }, "No page has failed or been skipped.");
  const columns = ["State", "Reason", "Pages"];
  return table("Why pages failed or were skipped", columns, reasons.map(({ state, reason, count: pages }) => row({},
    cell("State", h("button", { type: "button", class: "link", "data-tone": PAGE_TONES[state], "aria-label": `Show ${PAGE_STATES[state] ?? state} pages`, onclick: () => onChoose(state) }, state === "pending" ? (reason?.startsWith("waiting:") ? "Waiting" : "Tried again") : PAGE_STATES[state] ?? state)),
    cell("Reason", h("span", { class: "foreign" }, clip(reasonText(reason), 120))),
    cell("Pages", plain(pages)))));
}

/** The loaded pages in one state. */
class Pages {
  constructor(path, signal) {
    Object.assign(this, { path, signal, items: [], state: "", chosen: false });
    this.select = h("select", { id: "page-state", onchange: () => { this.chosen = true; this.load(); } }, Object.entries(PAGE_STATES).map(([value, label]) => h("option", { value }, label)));
    this.more = h("button", { type: "button", hidden: true, onclick: () => busy(this.more, () => this.load(this.items.at(-1)?.id)) }, "Load more");
    this.box = h("div", {}, loading("pages"));
    this.head = h("div", { class: "row between" }, h("h2", {}, "Pages"), h("div", { class: "row" }, h("label", { for: "page-state", class: "unseen" }, "State"), this.select));
    this.node = h("section", { class: "card", id: "pages" }, this.head, this.box, h("div", { class: "row center" }, this.more));
  }

  choose(state) {
    this.chosen = true;
    this.select.value = state;
    this.node.scrollIntoView({ block: "nearest" });
    return this.load();
  }

  /** Show failed pages first, if there are any. */
  start(counts) {
    this.select.value = counts.failed ? "failed" : "done";
    return this.load();
  }

  /** Reload, unless the user has loaded further pages of a state that only grows. */
  async refresh(counts) {
    if (!this.chosen && counts.failed && this.select.value === "done" && this.items.length < PAGES) this.select.value = "failed";
    if (this.items.length < PAGES || ["pending", "leased"].includes(this.state)) await this.load();
  }

  async load(after = 0) {
    const state = this.select.value;
    try {
      const found = await get(`${this.path}/pages`, { state, after, limit: PAGES }, { signal: this.signal });
      if (state !== this.select.value) return;
      const isSame = !after && state === this.state && JSON.stringify(found) === JSON.stringify(this.items);
      this.state = state;
      this.items = after ? [...this.items, ...found] : found;
      this.more.hidden = found.length < PAGES;
      if (!isSame) this.box.replaceChildren(this.items.length ? this.table() : emptyState(`No page is ${PAGE_STATES[state].toLowerCase()}`));
    } catch (error) {
      if (!isAbort(error)) this.box.replaceChildren(problem(error, () => this.load()));
    }
  }

  table() {
    const columns = ["Page", "Depth", "Status", "Tries", "Reason"];
    return table(`Pages: ${PAGE_STATES[this.state]}`, columns, this.items.map((page) => row({},
      cell("Page", outLink(page.url)),
      cell("Depth", plain(page.depth)),
      cell("Status", page.http_status === null ? h("span", { class: "faint" }, "–") : String(page.http_status)),
      cell("Tries", plain(page.attempt)),
      cell("Reason", page.reason ? foreign([reasonText(page.reason), page.message].filter(Boolean).join(" – ")) : h("span", { class: "faint" }, "–")))), "pages");
  }
}

/** Return the form that explains the state of a URL. */
function whyForm(path, signal) {
  const field = h("input", { id: "why-url", type: "url", inputmode: "url", placeholder: "https://example.org/page", autocomplete: "off", required: true });
  const button = h("button", { type: "submit" }, "Ask");
  const answer = h("div", { "aria-live": "polite" });
  const ask = async () => {
    try {
      const { page, because, way } = await get(`${path}/why`, { url: field.value.trim() }, { signal });
      answer.replaceChildren(
        h("p", { class: "foreign" }, h("strong", { "data-tone": PAGE_TONES[page.state] }, PAGE_STATES[page.state] ?? page.state), `: ${clip(because, 1000)}`),
        h("ol", { class: "way" }, [page, ...way].map((each, index) => h("li", {}, index ? "found on " : "", outLink(each.url), h("span", { class: "faint" }, ` depth ${each.depth}, ${(PAGE_STATES[each.state] ?? each.state).toLowerCase()}`)))));
    } catch (error) {
      if (!isAbort(error)) answer.replaceChildren(problem(error));
    }
  };
  const form = h("form", { novalidate: true }, h("label", { for: "why-url", class: "unseen" }, "Address"), h("div", { class: "row nowrap" }, field, button));
  form.addEventListener("submit", (event) => { event.preventDefault(); if (field.value.trim()) busy(button, ask); });
  return section("What became of a page?", form, answer);
}

function results(crawl, path) {
  const id = crawl.task_id;
  const give = (label, where, name, query) => h("button", { type: "button", class: "small", onclick: () => save(where, name, query).catch((error) => toast(error.message, "bad")) }, label);
  return section("Results",
    h("p", {}, "Save what was collected, also while it runs:"),
    h("div", { class: "row" },
      FORMATS.map((format) => give(format === "jsonl" ? "JSON lines" : format === "parquet" ? "Parquet" : format.toUpperCase(), `${path}/export`, `crawl-${id}.${format}`, { format })),
      give("With errors", `${path}/results`, `crawl-${id}-results.json`, { include_errors: true })),
    h("p", {}, h("a", { href: `#/runs/${encodeURIComponent(id)}` }, "Records and history of the run")));
}

function keeping(crawl) {
  if (crawl.kept) return "It is kept until you say otherwise.";
  if (!crawl.forgotten_at) return "";
  return h("span", {}, "It is forgotten, with its records, ", when(crawl.forgotten_at), ".");
}

export async function showCrawl(view, { id, signal, setLive }) {
  const path = `/scraping/tasks/${encodeURIComponent(id)}`;
  view.append(heading("Crawl"), loading("crawl"));
  let crawl;
  try {
    crawl = await get(path, {}, { signal });
  } catch (error) {
    if (error.status !== 404 && error.status !== 422) throw error;
    view.replaceChildren(heading("Crawl not found"), problem(error), h("p", {}, h("a", { href: "#/crawls" }, "See all crawls")));
    return;
  }
  const rate = new Rate();
  const progress = new Progress();
  const pages = new Pages(path, signal);
  const buttons = new Buttons(id, () => look().catch(() => {}));
  const state = h("span", {});
  const took = h("span", { class: "faint" });
  const about = h("div", {});
  const keepNote = h("p", { class: "faint" });
  const why = h("div", {});
  const plan = h("div", {});
  let drawn = "";

  const show = () => {
    document.title = `${stateOf(crawl.run_status).label} · ${shortUrl(crawl.url, 40)} · Corral`;
    progress.show(crawl, rate.see(crawl, performance.now()));
    buttons.show(crawl);
    const now = JSON.stringify([crawl.run_status, crawl.kept, crawl.forgotten_at, crawl.stopped_by, crawl.completed_at, crawl.started_at]);
    if (now === drawn) return;
    drawn = now;
    state.replaceChildren(badge(crawl.run_status));
    took.replaceChildren(elapsed(crawl.started_at, crawl.completed_at));
    about.replaceChildren(...[notice(crawl)].filter(Boolean));
    keepNote.replaceChildren(keeping(crawl));
    keepNote.hidden = !keepNote.textContent;
    plan.replaceChildren(planFacts(crawl));
  };
  const look = async () => {
    const before = crawl.run_status;
    crawl = await get(path, {}, { signal });
    show();
    if (before !== crawl.run_status) announce(`Crawl is now ${stateOf(crawl.run_status).label}`, { everyMs: 0 });
    return !hasEnded(crawl.status);
  };
  const explain = async () => {
    const isOver = hasEnded(crawl.status);
    why.replaceChildren(reasonTable(await get(`${path}/reasons`, {}, { signal }), (chosen) => pages.choose(chosen)));
    await pages.refresh(crawl.counts);
    return !isOver;
  };

  view.replaceChildren(
    h("p", { class: "crumb" }, h("a", { href: "#/crawls" }, "Crawls"), " / ", shortId(id)),
    h("div", { class: "heading" }, h("div", { class: "row" }, h("h1", { tabindex: "-1", class: "foreign" }, shortUrl(crawl.url, 60)), state, took), buttons.node),
    buttons.error, about,
    h("section", { class: "card", "aria-label": "Progress" }, progress.node, progress.tiles, keepNote),
    h("div", { class: "columns" },
      h("div", {}, section("Why pages failed or were skipped", why), pages.node),
      h("div", {}, whyForm(path, signal), results(crawl, path), section("What it was asked to do", plan))));
  view.querySelector("h1").focus({ preventScroll: true });
  show();
  await pages.start(crawl.counts);
  await Promise.all([
    every(LOOK_EVERY_MS, signal, look, setLive),
    every(REASONS_EVERY_MS, signal, explain).catch((error) => why.replaceChildren(problem(error))),
  ]);
}
