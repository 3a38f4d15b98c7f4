// Entry point: routes and the header.

import { get, isAbort } from "./api.js";
import { setUpAuth } from "./auth.js";
import { announce, byId, facts, h, heading, problem, setText, tick } from "./dom.js";
import { plain, words } from "./format.js";
import { showCrawl } from "./page-crawl.js";
import { showCrawls } from "./page-crawls.js";
import { showInterventions } from "./page-interventions.js";
import { showJobs } from "./page-jobs.js";
import { showPreview } from "./page-preview.js";
import { showRecords } from "./page-records.js";
import { showRun } from "./page-run.js";
import { showRuns } from "./page-runs.js";
import { showSites } from "./page-sites.js";
import { showWorkers } from "./page-workers.js";
import { healthOf } from "./states.js";

const HEALTH_EVERY_MS = 10_000;
const LIVE = { open: ["Live", "good"], waiting: ["Reconnecting…", "warn"], closed: ["", "muted"] };

let leave = new AbortController();

/** "#/runs/abc?status=failed" → {page, id, query}. */
function parseHash(hash) {
  const [path, search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [page = "", id = "", ...more] = path.split("/");
  return { page: page || "runs", id: more.length ? null : safeDecode(id), query: new URLSearchParams(search) };
}

function safeDecode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

const LISTS = {
  runs: { show: showRuns, title: "Runs" },
  crawls: { show: showCrawls, title: "Crawls" },
  jobs: { show: showJobs, title: "Jobs" },
  records: { show: showRecords, title: "Records" },
  sites: { show: showSites, title: "Sites" },
  workers: { show: showWorkers, title: "Workers" },
  interventions: { show: showInterventions, title: "Waiting for a person" },
  preview: { show: showPreview, title: "Preview" },
};
const SINGLE = { runs: { show: showRun, title: "Run" }, crawls: { show: showCrawl, title: "Crawl" } };

function pageFor({ page, id }) {
  const pages = id === "" ? LISTS : id ? SINGLE : {};
  return Object.hasOwn(pages, page) ? pages[page] : null;
}

async function route({ isFirst = false } = {}) {
  leave.abort();
  leave = new AbortController();
  const { signal } = leave;
  const where = parseHash(location.hash);
  const found = pageFor(where);
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.page === where.page) {
      link.setAttribute("aria-current", "page");
      link.scrollIntoView({ block: "nearest", inline: "center" }); // on a narrow screen not all links fit
    } else link.removeAttribute("aria-current");
  }
  document.title = `${found?.title ?? "Not found"} · Corral`;
  const main = byId("main");
  const view = h("div", { class: "view" });
  main.replaceChildren(view);
  window.scrollTo(0, 0);
  setLive("closed");
  if (!found) {
    view.append(heading("Not found"), h("p", {}, "There is no such page. ", h("a", { href: "#/runs" }, "See the runs")));
    return;
  }
  try {
    const rendering = found.show(view, { ...where, signal, setLive: (status) => { if (!signal.aborted) setLive(status); } });
    if (!isFirst) view.querySelector("h1")?.focus({ preventScroll: true });
    await rendering;
  } catch (error) {
    if (signal.aborted || isAbort(error)) return;
    view.querySelectorAll("[aria-busy]").forEach((node) => node.remove());
    view.append(problem(error, () => route()));
  }
}

function setLive(status) {
  const [text, tone] = LIVE[status];
  const node = byId("live");
  setText(node, text);
  node.dataset.tone = tone;
}

// --- the header ---

let lastHealth = "";

async function checkHealth() {
  if (document.hidden) return;
  let health;
  try {
    health = await get("/health", {}, { quiet: true, accept: [500, 503] });
  } catch {
    health = null;
  }
  showHealth(health && typeof health === "object" ? health : { status: "unreachable", components: {} });
}

function showHealth({ status, components }) {
  const { label, tone } = healthOf(status);
  byId("health-dot").dataset.tone = tone;
  setText(byId("health-label"), label);
  if (lastHealth && lastHealth !== status) announce(`Server is ${label.toLowerCase()}`, { everyMs: 0 });
  lastHealth = status;
  const parts = Object.entries(components ?? {});
  const pairs = parts.map(([name, part]) => [words(name), describe(part)]);
  byId("health-parts").replaceChildren(...facts(pairs.length ? pairs : [["Server", label]]).childNodes);
  showCounts(components?.runs);
}

function describe(part) {
  if (part === null || typeof part !== "object") return plain(part);
  return Object.entries(part).filter(([, value]) => value !== null).map(([key, value]) => (key === "status" ? plain(value) : `${words(key).toLowerCase()} ${plain(value)}`)).join(", ");
}

function showCounts(runs) {
  const counts = runs && typeof runs === "object" ? (runs.counts ?? runs.by_state ?? runs) : {};
  const entries = [["queued", "queued", "neutral"], ["running", "running", "info"], ["held", "held", "hold"]]
    .filter(([key]) => Number.isInteger(counts[key]));
  const list = byId("counts");
  list.hidden = entries.length === 0;
  list.replaceChildren(...entries.map(([key, label, tone]) =>
    h("li", { "data-tone": tone, "data-zero": counts[key] === 0 }, h("b", {}, counts[key].toLocaleString()), ` ${label}`)));
}

function setUpHeader() {
  const details = byId("health");
  document.addEventListener("click", (event) => { if (details.open && !details.contains(event.target)) details.open = false; });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !details.open) return;
    details.open = false;
    details.querySelector("summary").focus();
  });
  byId("skip").addEventListener("click", (event) => { event.preventDefault(); byId("main").focus(); });
}

setUpHeader();
setUpAuth(() => { checkHealth(); route(); });
window.addEventListener("hashchange", () => route());
document.addEventListener("visibilitychange", checkHealth);
setInterval(checkHealth, HEALTH_EVERY_MS);
setInterval(() => { if (!document.hidden) tick(); }, 1000);
checkHealth();
route({ isFirst: true });
