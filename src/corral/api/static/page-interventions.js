// Runs that wait for a person: a screenshot, and the button that resumes the run.

import { isAbort, list, picture, post } from "./api.js";
import { announce, badge, busy, command, emptyState, facts, h, heading, loading, outLink, problem, toast, when } from "./dom.js";
import { count, shortId, words } from "./format.js";
import { every } from "./poll.js";

const LOOK_EVERY_MS = 5000;
const MOST = 50;
const STATUSES = [["open", "Waiting"], ["resolved", "Resolved"], ["cancelled", "Cancelled"]];
const ADVICE = {
  login: "Log in as a person would, and hand over the session:",
  captcha: "Solve it as a person would, and hand over the session:",
};

function screenshot(item, signal) {
  if (!item.screenshot) return null;
  const image = h("img", { alt: `What the page looked like: ${words(item.kind)}`, width: 640, height: 360 });
  picture(item.screenshot, { signal })
    .then((source) => image.setAttribute("src", source))
    .catch((error) => { if (!isAbort(error)) image.replaceWith(problem(error)); });
  return h("figure", {}, image);
}

function card(item, signal, onDone) {
  const error = h("div", {});
  const button = h("button", { type: "button", class: "primary", "aria-label": `Resume run ${shortId(item.run_id)}` }, "Resume the run");
  const resolve = async () => {
    try {
      const { run_status: status } = await post(`/interventions/${encodeURIComponent(item.id)}/resolve`);
      toast(`The run is ${status ?? "resumed"}`);
      onDone();
    } catch (problemOf) {
      if (!isAbort(problemOf)) error.replaceChildren(problem(problemOf));
    }
  };
  button.addEventListener("click", () => busy(button, resolve));
  const isOpen = item.status === "open";
  return h("article", { class: "card intervention", "data-id": item.id },
    h("div", { class: "row between" },
      h("h2", { class: "foreign" }, words(item.kind)),
      isOpen ? button : badge(item.status === "resolved" ? "completed" : "cancelled")),
    error,
    h("p", { class: "foreign" }, item.reason),
    screenshot(item, signal),
    isOpen && ADVICE[item.kind] && item.job_id ? h("div", {}, h("p", {}, ADVICE[item.kind]), command(`corral session capture ${item.job_id}`)) : null,
    facts([
      ["Page", item.url ? outLink(item.url) : null],
      ["Run", h("a", { href: `#/runs/${encodeURIComponent(item.run_id)}` }, shortId(item.run_id))],
      ["Since", when(item.created_at)],
      ["Dealt with", item.resolved_at ? when(item.resolved_at) : null],
    ]));
}

export async function showInterventions(view, { query, signal, setLive }) {
  const status = STATUSES.some(([value]) => value === query.get("status")) ? query.get("status") : "open";
  const select = h("select", { id: "intervention-filter", onchange: (event) => { location.hash = `#/interventions?status=${event.target.value}`; } },
    STATUSES.map(([value, label]) => h("option", { value, selected: value === status }, label)));
  const box = h("div", { class: "cards" }, loading("what waits"));
  view.append(heading("Waiting for a person", h("div", { class: "row" }, h("label", { for: "intervention-filter", class: "unseen" }, "State"), select)), box);
  const cards = new Map();
  const look = async () => {
    const { items } = await list("/interventions", { status, limit: MOST }, { signal });
    const ids = new Set(items.map(({ id }) => id));
    const before = cards.size;
    for (const id of [...cards.keys()]) if (!ids.has(id)) cards.delete(id);
    for (const item of items) if (!cards.has(item.id)) cards.set(item.id, card(item, signal, look));
    if (items.length > before && before > 0) announce(`${count(items.length, "run")} waiting`, { everyMs: 0 });
    const nothing = emptyState(status === "open" ? "Nothing waits for a person" : "Nothing here", "A run that meets a captcha or a login stops here and goes on when you have dealt with it.");
    const wanted = items.length ? items.map(({ id }) => cards.get(id)) : [nothing];
    if (wanted.length !== box.children.length || wanted.some((node, index) => box.children[index] !== node)) box.replaceChildren(...wanted);
    return true;
  };
  await every(LOOK_EVERY_MS, signal, look, setLive);
}
