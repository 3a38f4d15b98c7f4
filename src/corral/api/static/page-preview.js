// Preview of a page without a job: suggested fields, and the links of a list.

import { create, isAbort, post } from "./api.js";
import { announce, busy, cell, emptyState, foreign, h, heading, outLink, problem, row, section, table, toast } from "./dom.js";
import { check, clearErrors, controlFor, input, labelled, showFieldError } from "./form.js";
import { clip, count } from "./format.js";

const PAGE = "preview";
const LIST = "list";
const COLUMNS = ["Take", "Field", "Selector", "Found", "Confidence"];

function urlField(prefix) {
  return labelled(prefix, "url", "Page", input(prefix, "url", { type: "url", inputmode: "url", placeholder: "https://example.org/page", required: true }));
}

function formOf(prefix, label, ...fields) {
  return h("form", { class: "job-form preview-form", novalidate: true }, urlField(prefix), fields,
    h("div", { class: "form-error" }),
    h("div", { class: "row between" }, check("prefer_browser", "With the browser, after its scripts have run", false), h("button", { type: "submit", class: "primary" }, label)));
}

/** Send the form; show an error at the control that it is about. */
function onSubmit(form, send) {
  const button = form.querySelector("button[type=submit]");
  const once = async () => {
    clearErrors(form);
    if (!form.elements.url.value.trim()) {
      showFieldError(form, "url", "Say which page to look at");
      return;
    }
    try {
      await send();
    } catch (error) {
      if (isAbort(error)) return;
      if (!error.field || !showFieldError(form, controlFor(error.field), error.message, error.hint)) form.querySelector(".form-error").replaceChildren(problem(error));
    }
  };
  form.addEventListener("submit", (event) => { event.preventDefault(); busy(button, once); });
}

function warningsOf(warnings) {
  return warnings?.length ? h("div", { class: "notice", "data-tone": "warn" }, warnings.map((text) => h("p", { class: "foreign" }, text))) : null;
}

/** Preselect the first suggestion of each field, which has the highest confidence. */
function isChosen({ label, confidence }, index, all) {
  return confidence >= 0.5 && all.findIndex((other) => other.label === label) === index;
}

function suggestionRow(suggestion, index, all) {
  const { label, css, xpath, attr, regex, sample, confidence } = suggestion;
  const how = [css ?? xpath, attr ? `@${attr}` : "", regex ? ` /${regex}/` : "", suggestion.all ? " (all)" : ""].join("");
  return row({},
    cell("Take", h("input", { type: "checkbox", name: "take", value: index, checked: isChosen(suggestion, index, all), "aria-label": `Take ${clip(label, 80)}` })),
    cell("Field", h("span", { class: "foreign" }, clip(label, 80))),
    cell("Selector", h("code", { class: "foreign" }, clip(how, 160))),
    cell("Found", foreign(sample)),
    cell("Confidence", `${Math.round(confidence * 100)} %`));
}

/** Return a field of the job; a second field of the same name gets a number. */
function fieldOf({ label, css, xpath, attr, all, regex }, index, chosen) {
  const before = chosen.slice(0, index).filter((other) => other.label === label).length;
  return { name: before ? `${label} ${before + 1}` : label, ...(css ? { css } : { xpath }), ...(attr ? { attr } : {}), ...(all ? { all } : {}), ...(regex ? { regex } : {}) };
}

async function makeJob(url, viaBrowser, chosen, box) {
  try {
    const job = await create("/jobs", { target_url: url, fields: chosen.map(fieldOf), strategy: viaBrowser ? "browser" : "auto" });
    toast("Job created");
    location.hash = `#/runs?job_id=${encodeURIComponent(job.id)}`;
  } catch (error) {
    if (!isAbort(error)) box.replaceChildren(problem(error));
  }
}

function previewed(found) {
  const error = h("div", {});
  const button = h("button", { type: "button", class: "primary" }, "Make a job of the chosen fields");
  const rows = h("div", {}, found.suggestions.length
    ? table("Suggested fields", COLUMNS, found.suggestions.map(suggestionRow), "suggestions")
    : emptyState("Nothing was recognised", "The page may be empty, or filled by scripts: try it with the browser."));
  button.addEventListener("click", () => busy(button, async () => {
    const chosen = [...rows.querySelectorAll("input[name=take]:checked")].map((box) => found.suggestions[Number(box.value)]);
    if (!chosen.length) return error.replaceChildren(problem({ message: "Choose at least one field" }));
    return makeJob(found.url, found.fetched_via === "browser", chosen, error);
  }));
  return section("Suggested fields",
    h("p", {}, outLink(found.url), h("span", { class: "faint" }, ` fetched by ${found.fetched_via}`)),
    warningsOf(found.warnings), rows, error,
    found.suggestions.length ? h("div", { class: "row end" }, button) : null,
    h("details", { class: "long" }, h("summary", {}, "The beginning of its HTML"), h("pre", { class: "foreign" }, found.html_snippet)));
}

function listed(found) {
  return section("Where its links lead",
    h("p", {}, `${count(found.item_count_estimate, "item")} on this page. `, found.next_page_url ? h("span", {}, "Next page: ", outLink(found.next_page_url)) : "There is no next page."),
    warningsOf(found.warnings),
    found.sample_item_urls.length ? h("ul", { class: "plain" }, found.sample_item_urls.map((url) => h("li", {}, outLink(url)))) : null);
}

export async function showPreview(view, { signal }) {
  const page = formOf(PAGE, "Look at it");
  const list = formOf(LIST, "Try the selectors",
    labelled(LIST, "item_links", "Links to the items", input(LIST, "item_links", { placeholder: "a.title", spellcheck: "false", required: true }), "A CSS selector"),
    labelled(LIST, "pagination", "Link to the next page", input(LIST, "pagination", { placeholder: "a.next", spellcheck: "false" }), "A CSS selector; may be left out"));
  const answer = h("div", { id: "preview-answer" });
  view.append(heading("Preview"),
    h("section", { class: "card" }, h("h2", {}, "What does a page offer?"), h("p", { class: "faint" }, "The page is fetched as a job would fetch it. Nothing is stored."), page),
    h("details", { class: "card fold" }, h("summary", {}, h("h2", {}, "A list and its items")), list),
    answer);
  const show = (node, text) => {
    answer.replaceChildren(node);
    announce(text, { everyMs: 0 });
    node.scrollIntoView({ block: "nearest" });
  };
  onSubmit(page, async () => {
    const found = await post("/jobs/preview", { url: page.elements.url.value.trim(), prefer_browser: page.elements.prefer_browser.checked }, { signal });
    show(previewed(found), `${count(found.suggestions.length, "field")} suggested`);
  });
  onSubmit(list, async () => {
    const { url, item_links: links, pagination, prefer_browser: browser } = list.elements;
    const body = { url: url.value.trim(), item_links: links.value.trim(), prefer_browser: browser.checked };
    if (pagination.value.trim()) body.pagination = pagination.value.trim();
    const found = await post("/jobs/list-wizard/validate", body, { signal });
    show(listed(found), `${count(found.item_count_estimate, "item")} found`);
  });
}
