// The list of crawls, newest first, and the form that starts one.

import { get, isAbort } from "./api.js";
import { badge, cell, command, elapsed, emptyState, h, heading, loading, problem, row, table, targetLink, when } from "./dom.js";
import { crawlForm, fillFrom } from "./crawl-form.js";
import { plain } from "./format.js";
import { every } from "./poll.js";
import { hasEnded } from "./states.js";

const MOST = 100;
const LOOK_EVERY_MS = 2000;
const COLUMNS = ["State", "Start page", "Done", "Failed", "Waiting", "Started", "Duration"];
const FILTERS = [["", "All states"], ["pending", "Waiting"], ["running", "Running"], ["completed", "Completed"], ["partial", "Partial"], ["failed", "Failed"], ["cancelled", "Cancelled"]];

function crawlRow(task) {
  const href = `#/crawls/${encodeURIComponent(task.task_id)}`;
  const waiting = task.total_items - task.completed_items - task.failed_items;
  return row({ "data-id": task.task_id },
    cell("State", h("a", { href, class: "state" }, badge(task.run_status, task.status === "running" ? `${Math.floor(task.progress)} %` : ""))),
    cell("Start page", targetLink(task.url, href)),
    cell("Done", plain(task.completed_items)),
    cell("Failed", h("span", { class: "failure", "data-tone": task.failed_items ? "bad" : "muted" }, plain(task.failed_items))),
    cell("Waiting", hasEnded(task.status) ? h("span", { class: "faint" }, "–") : plain(waiting)),
    cell("Started", task.started_at ? when(task.started_at) : h("span", { class: "faint" }, "not yet")),
    cell("Duration", elapsed(task.started_at, task.completed_at)));
}

function filterBy(chosen) {
  const select = h("select", { id: "crawl-filter", onchange: (event) => { location.hash = `#/crawls${event.target.value ? `?status=${event.target.value}` : ""}`; } },
    FILTERS.map(([value, label]) => h("option", { value, selected: value === chosen }, label)));
  return h("div", { class: "row" }, h("label", { for: "crawl-filter", class: "unseen" }, "State"), select);
}

function nothing(status) {
  if (status) return emptyState("No crawl matches", h("p", {}, h("a", { href: "#/crawls" }, "Show all crawls")));
  return emptyState("No crawls yet", "A crawl collects the pages of a site. Fill in the form above, or start one from the command line:", command("corral crawl URL --depth 2"));
}

/** Prefill the form with the plan of an earlier crawl. */
async function again(form, id, signal) {
  try {
    fillFrom(form, await get(`/scraping/tasks/${encodeURIComponent(id)}`, {}, { signal }));
  } catch (error) {
    if (!isAbort(error)) form.querySelector(".form-error").replaceChildren(problem(error));
  }
}

export async function showCrawls(view, { query, signal, setLive }) {
  const status = query.get("status") ?? "";
  const form = crawlForm();
  const panel = h("details", { class: "card fold", open: Boolean(query.get("again")) }, h("summary", {}, h("h2", {}, "New crawl")), form);
  const box = h("div", {}, loading("crawls"));
  view.append(heading("Crawls", filterBy(status)), panel, box);
  if (query.get("again")) await again(form, query.get("again"), signal);
  let lastText = "";
  await every(LOOK_EVERY_MS, signal, async () => {
    const tasks = await get("/scraping/tasks", { status_filter: status, limit: MOST }, { signal });
    const text = JSON.stringify(tasks);
    if (text === lastText) return true;
    if (!lastText && !status && tasks.length === 0) panel.open = true;
    lastText = text;
    const focused = box.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    box.replaceChildren(tasks.length ? table("Crawls, newest first", COLUMNS, tasks.map(crawlRow), "runs") : nothing(status));
    if (focused) [...box.querySelectorAll("a")].find((link) => link.getAttribute("href") === focused)?.focus({ preventScroll: true });
    return true;
  }, setLive);
}
