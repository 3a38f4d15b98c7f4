// The list of jobs, and the form that creates one.

import { create, isAbort, list, remove } from "./api.js";
import { announce, badge, busy, cell, command, confirmed, emptyState, h, heading, loading, outLink, problem, row, table, toast } from "./dom.js";
import { choice, clearErrors, controlFor, labelled, showFieldError } from "./form.js";
import { clip, count } from "./format.js";

const PAGE = 50;
const COLUMNS = ["Target", "Fields", "Strategy", "Frequency", "Priority", "Last run", "Actions"];
const STRATEGIES = [["auto", "Automatic"], ["http", "HTTP"], ["browser", "Browser"], ["api_replay", "API replay"]];
const FREQUENCIES = [["on_demand", "On demand"], ["hourly", "Hourly"], ["daily", "Daily"], ["weekly", "Weekly"], ["monthly", "Monthly"], ["cron", "Cron expression…"]];
const PRIORITIES = [["critical", "Critical"], ["high", "High"], ["medium", "Medium"], ["low", "Low"]];

function fieldNames(job) {
  return (Array.isArray(job.fields) ? job.fields : []).map((field) => String(field?.name ?? field));
}

const PREFIX = "job";
const labelledJob = (name, label, control, help) => labelled(PREFIX, name, label, control, help);

function buildForm() {
  const cron = h("input", { name: "cron", id: "job-cron", placeholder: "*/15 * * * *", autocomplete: "off", spellcheck: "false", "aria-label": "Cron expression", hidden: true });
  const frequency = choice(PREFIX, "frequency", FREQUENCIES, "on_demand");
  const form = h("form", { class: "job-form", novalidate: true },
    labelledJob("target_url", "Target URL", h("input", { name: "target_url", id: "job-target_url", type: "url", inputmode: "url", placeholder: "https://example.org/page", autocomplete: "off", required: true })),
    labelledJob("fields", "Fields", h("input", { name: "fields", id: "job-fields", placeholder: "title, price, author", autocomplete: "off", required: true }), "Separated by commas"),
    labelledJob("strategy", "Strategy", choice(PREFIX, "strategy", STRATEGIES, "auto")),
    labelledJob("frequency", "Frequency", frequency),
    labelledJob("priority", "Priority", choice(PREFIX, "priority", PRIORITIES, "medium")),
    h("div", { class: "form-error" }),
    h("div", { class: "row between" },
      h("label", { class: "check" }, h("input", { type: "checkbox", name: "start", checked: true }), "Start a run now"),
      h("button", { type: "submit", class: "primary" }, "Create job")));
  frequency.after(cron);
  frequency.addEventListener("change", () => {
    cron.hidden = frequency.value !== "cron";
    if (!cron.hidden) cron.focus();
  });
  return form;
}

function readForm(form) {
  const value = (name) => form.elements[name].value.trim();
  return {
    target_url: value("target_url"),
    fields: value("fields").split(",").map((name) => name.trim()).filter(Boolean),
    strategy: value("strategy"),
    frequency: value("frequency") === "cron" ? value("cron") : value("frequency"),
    priority: value("priority"),
  };
}

function checkBeforeSending(form, job) {
  if (job.fields.length === 0) showFieldError(form, "fields", "Name at least one field", "For example: title");
  if (!job.target_url) showFieldError(form, "target_url", "Say which page to collect from");
  if (!job.frequency) showFieldError(form, "frequency", "Give a cron expression", "Five fields, such as */15 * * * *");
  return job.fields.length > 0 && Boolean(job.target_url) && Boolean(job.frequency);
}

async function submit(form, onCreated) {
  clearErrors(form);
  const job = readForm(form);
  if (!checkBeforeSending(form, job)) return;
  const startNow = form.elements.start.checked;
  try {
    const created = await create("/jobs", job);
    form.reset();
    form.elements.cron.hidden = true;
    toast("Job created");
    onCreated(created);
    if (startNow) await startRun(created);
  } catch (error) {
    if (isAbort(error)) return;
    if (!error.field || !showFieldError(form, controlFor(error.field), error.message, error.hint)) {
      form.querySelector(".form-error").replaceChildren(problem(error));
    }
  }
}

async function startRun(job) {
  try {
    const run = await create(`/jobs/${encodeURIComponent(job.id)}/runs`);
    toast("Run started");
    location.hash = `#/runs/${encodeURIComponent(run.id)}`;
  } catch (error) {
    if (!isAbort(error)) toast([error.message, error.hint].filter(Boolean).join(" – "), "bad");
  }
}

async function deleteJob(job, onGone) {
  const yes = await confirmed("Delete this job?", clip(job.target_url ?? job.id, 300), "Delete job");
  if (!yes) return;
  try {
    await remove(`/jobs/${encodeURIComponent(job.id)}`);
  } catch (error) {
    if (error.status !== 404) {
      if (!isAbort(error)) toast([error.message, error.hint].filter(Boolean).join(" – "), "bad");
      return;
    }
  }
  toast("Job deleted");
  onGone();
}

/** Warn that the certificate was not verified, so the results may be forged. */
function unverified(job) {
  if (job.verify_tls !== false) return [];
  return [" ", h("span", { class: "badge", "data-tone": "bad", title: "This job takes any certificate" }, "TLS not verified")];
}

function jobRow(job, onGone) {
  const names = fieldNames(job);
  const about = clip(job.target_url ?? job.id, 100);
  const run = h("button", { type: "button", class: "small", "aria-label": `Run now: ${about}` }, "Run now");
  run.addEventListener("click", () => busy(run, () => startRun(job)));
  const gone = h("button", { type: "button", class: "small danger", "aria-label": `Delete: ${about}` }, "Delete");
  gone.addEventListener("click", () => busy(gone, () => deleteJob(job, () => onGone(job.id))));
  return row({ "data-id": job.id },
    cell("Target", outLink(job.target_url), ...unverified(job)),
    cell("Fields", h("span", { class: "foreign", title: clip(names.join(", "), 500) }, clip(names.join(", "), 60) || "–")),
    cell("Strategy", String(job.strategy ?? "–")),
    cell("Frequency", h("span", { class: "foreign" }, String(job.frequency ?? "–").replace("on_demand", "on demand"))),
    cell("Priority", String(job.priority ?? "–")),
    cell("Last run", h("a", { class: "state", href: `#/runs?job_id=${encodeURIComponent(job.id)}`, "aria-label": `Runs of ${about}` }, badge(job.status))),
    cell("Actions", h("div", { class: "row tight" }, run, gone)));
}

export async function showJobs(view, { signal }) {
  const form = buildForm();
  const panel = h("details", { class: "card fold" }, h("summary", {}, h("h2", {}, "New job")), form);
  const box = h("div", {}, loading("jobs"));
  const older = h("button", { type: "button", hidden: true }, "Load older");
  view.append(heading("Jobs"), panel, box, h("div", { class: "row center" }, older));
  let jobs = [];
  let next = null;

  const show = () => {
    const forget = (id) => { jobs = jobs.filter((job) => job.id !== id); show(); };
    older.hidden = !next;
    box.replaceChildren(jobs.length
      ? table("Jobs, newest first", COLUMNS, jobs.map((job) => jobRow(job, forget)))
      : emptyState("No jobs yet", "A job says what to collect, and from where. Fill in the form above, or scrape a page once from the command line:", command("corral scrape URL --fields title")));
  };
  const load = async () => {
    const page = await list("/jobs", { limit: PAGE, cursor: next }, { signal });
    jobs = [...jobs, ...page.items];
    next = page.next;
    show();
    return page.items.length;
  };

  const button = form.querySelector("button[type=submit]");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    busy(button, () => submit(form, (job) => { if (!signal.aborted) { jobs = [job, ...jobs]; show(); } }));
  });
  older.addEventListener("click", () => busy(older, async () => {
    try {
      announce(`${count(await load(), "older job")} loaded`, { everyMs: 0 });
    } catch (error) {
      if (!isAbort(error)) toast(error.message, "bad");
    }
  }));
  await load();
  panel.open = jobs.length === 0;
}
