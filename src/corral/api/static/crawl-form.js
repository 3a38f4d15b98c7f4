// The form that starts a crawl: every option of a task.

import { create, isAbort } from "./api.js";
import { busy, h, problem, toast } from "./dom.js";
import { check, choice, clearErrors, controlFor, input, labelled, showFieldError } from "./form.js";

const PREFIX = "crawl";
const FORMATS = [["json", "JSON"], ["jsonl", "JSON lines"], ["csv", "CSV"], ["parquet", "Parquet"]];
const NUMBERS = {
  max_depth: ["Depth", { min: 1, max: 5, value: 1 }, "Links away from the start"],
  max_pages: ["Pages at most", { min: 1, max: 1_000_000, value: 1000 }, ""],
  max_concurrent_articles: ["Pages at once", { min: 1, max: 25, value: 10 }, ""],
  timeout_minutes: ["Minutes at most", { min: 5, max: 120, value: 30, step: "any" }, ""],
  retry_attempts: ["Tries for each page", { min: 1, max: 5, value: 3 }, ""],
  workers: ["Workers at most", { min: 1, max: 64, placeholder: "auto" }, "Each has hosts of its own"],
};
const LISTS = {
  include: ["Follow only", "/articles/*, /news/*", "Patterns, separated by commas"],
  exclude: ["Never follow", "/login*, /cart*", "Patterns, separated by commas"],
  categories: ["Categories", "science, sport", "Only paths that name one of them"],
};

function number(name) {
  const [label, attributes, help] = NUMBERS[name];
  return labelled(PREFIX, name, label, input(PREFIX, name, { type: "number", ...attributes }), help);
}

function listOf(name) {
  const [label, placeholder, help] = LISTS[name];
  return labelled(PREFIX, name, label, input(PREFIX, name, { placeholder, spellcheck: "false" }), help);
}

export function crawlForm() {
  const form = h("form", { class: "job-form", novalidate: true },
    labelled(PREFIX, "url", "Start page", input(PREFIX, "url", { type: "url", inputmode: "url", placeholder: "https://example.org/", required: true })),
    number("max_depth"), number("max_pages"),
    h("details", { class: "more" }, h("summary", {}, "More options"),
      h("div", { class: "job-form" },
        ...Object.keys(LISTS).map(listOf),
        number("max_concurrent_articles"), number("workers"), number("timeout_minutes"), number("retry_attempts"),
        labelled(PREFIX, "export_format", "Export as", choice(PREFIX, "export_format", FORMATS, "json")),
        h("div", { class: "row" }, check("partial_results_ok", "Partial results are of use", true), check("keep", "Keep it for longer than a day", false)))),
    h("div", { class: "form-error" }),
    h("div", { class: "row end" }, h("button", { type: "submit", class: "primary" }, "Start crawl")));
  const button = form.querySelector("button[type=submit]");
  form.addEventListener("submit", (event) => { event.preventDefault(); busy(button, () => submit(form)); });
  return form;
}

/** Fill the form with the plan of an earlier crawl. */
export function fillFrom(form, { plan }) {
  const values = {
    url: plan.start_urls[0], max_depth: plan.max_depth, max_pages: plan.max_pages, max_concurrent_articles: plan.concurrency,
    retry_attempts: plan.retry_attempts, timeout_minutes: plan.max_seconds ? plan.max_seconds / 60 : null,
    workers: typeof plan.workers === "number" ? plan.workers : null,
    include: plan.scope?.include?.join(", "), exclude: plan.scope?.exclude?.join(", "),
  };
  for (const [name, value] of Object.entries(values)) if (value !== null && value !== undefined) form.elements[name].value = value;
  form.elements.partial_results_ok.checked = plan.partial_results_ok;
}

function read(form) {
  const request = { url: form.elements.url.value.trim(), export_format: form.elements.export_format.value };
  for (const name of Object.keys(NUMBERS)) {
    const text = form.elements[name].value.trim();
    if (text) request[name] = Number(text);
  }
  for (const name of Object.keys(LISTS)) {
    const parts = form.elements[name].value.split(",").map((part) => part.trim()).filter(Boolean);
    if (parts.length) request[name] = parts;
  }
  for (const name of ["partial_results_ok", "keep"]) request[name] = form.elements[name].checked;
  return request;
}

async function submit(form) {
  clearErrors(form);
  const request = read(form);
  if (!request.url) {
    showFieldError(form, "url", "Say where to begin");
    return;
  }
  try {
    const { task_id: id } = await create("/scraping/async-scrape", request);
    toast("Crawl started");
    location.hash = `#/crawls/${encodeURIComponent(id)}`;
  } catch (error) {
    if (isAbort(error)) return;
    if (!error.field || !showFieldError(form, controlFor(error.field), error.message, error.hint)) form.querySelector(".form-error").replaceChildren(problem(error));
  }
}
