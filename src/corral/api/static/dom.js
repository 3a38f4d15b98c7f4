// Build the page. Text is inserted only as text nodes; links lead only to http(s) or to pages of the dashboard.

import { clip, clockTime, duration, fullTime, now, parseTime, plain, relativeTime, shortUrl, webUrl, words } from "./format.js";
import { stateOf } from "./states.js";

const PREVIEW = 160;
const WHOLE = 20_000;

/** h("td", {class: "x", onclick: f}, "text", node, null). Attributes with null or false are omitted. */
export function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "href") setHref(node, value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

function setHref(node, value) {
  if (String(value).startsWith("#/")) node.setAttribute("href", value);
  else if (webUrl(value)) node.setAttribute("href", webUrl(value).href);
}

export function byId(id) {
  return document.getElementById(id);
}

/** Return an external link, or plain text if the address is not http(s). */
export function outLink(address, text = shortUrl(address)) {
  if (!webUrl(address)) return h("span", { class: "foreign" }, clip(String(address ?? "–"), PREVIEW));
  return h("a", { href: address, class: "foreign", target: "_blank", rel: "noopener noreferrer", title: clip(address, 500) }, text);
}

/** Return a link to our page about a URL, with a small external link to the URL itself. */
export function targetLink(address, href) {
  const text = h("a", { href, class: "foreign", title: clip(String(address), 500) }, shortUrl(address));
  if (!webUrl(address)) return text;
  return [text, " ", h("a", { href: address, class: "out", target: "_blank", rel: "noopener noreferrer", "aria-label": `Open ${shortUrl(address)} in a new tab` }, "↗")];
}

export function badge(status, suffix = "") {
  const { label, tone } = stateOf(status);
  return h("span", { class: "badge", "data-tone": tone }, suffix ? `${label} ${suffix}` : label);
}

export function when(text, { clock = false } = {}) {
  const ms = parseTime(text);
  if (ms === null) return h("span", { class: "faint" }, "–");
  const attributes = { datetime: text, title: fullTime(ms), "data-relative": clock ? null : ms };
  return h("time", attributes, clock ? clockTime(ms) : relativeTime(ms));
}

/** Return the duration, or the time since the start. */
export function elapsed(startText, endText) {
  const start = parseTime(startText);
  if (start === null) return h("span", { class: "faint" }, "–");
  const end = parseTime(endText);
  if (end !== null) return h("span", {}, duration(end - start));
  return h("span", { "data-since": start }, duration(Math.max(1000, now() - start)));
}

/** Update every "3 s ago" and every running duration on the page. */
export function tick() {
  for (const node of document.querySelectorAll("[data-relative]")) setText(node, relativeTime(Number(node.dataset.relative)));
  for (const node of document.querySelectorAll("[data-since]")) setText(node, duration(Math.max(1000, now() - Number(node.dataset.since))));
}

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Return a foreign value as a node: isolated, clipped, expandable; a link only if it is a web address. */
export function foreign(value) {
  if (typeof value === "string" && value.length < 2000 && !/\s/.test(value) && webUrl(value)) return outLink(value);
  const text = plain(value);
  if (text.length <= PREVIEW) return h("span", { class: "foreign" }, text);
  const whole = h("details", { class: "long" }, h("summary", { class: "foreign" }, clip(text, PREVIEW)));
  whole.addEventListener("toggle", () => whole.append(h("pre", { class: "foreign" }, clip(text, WHOLE))), { once: true });
  return whole;
}

/** Return a table. Cells have the name of their column, so that a narrow screen can show each row as a card. */
export function table(caption, columns, rows, className = null) {
  const head = columns.map((column) => h("th", { scope: "col", role: "columnheader" }, column));
  const body = h("tbody", { role: "rowgroup" }, rows);
  return h("div", { class: "scroll" },
    h("table", { role: "table", class: className },
      h("caption", { class: "unseen" }, caption),
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, head)),
      body));
}

export function cell(column, ...children) {
  return h("td", { role: "cell", "data-label": column }, h("div", { class: "cell" }, children));
}

export function row(attributes, ...cells) {
  return h("tr", { role: "row", ...attributes }, cells);
}

/** Return objects of unknown shape as a table: the keys in `first`, then the others in their order. */
export function objectTable(caption, objects, { first = [], maxColumns = 8, label = words } = {}) {
  const found = new Set(objects.flatMap((object) => Object.keys(object ?? {})));
  const keys = [...first.filter((key) => found.delete(key)), ...found];
  const visible = keys.slice(0, maxColumns);
  const rest = keys.slice(maxColumns);
  const labels = [...visible.map((key) => clip(label(key), 60)), ...(rest.length ? ["More"] : [])];
  const rows = objects.map((object) => {
    const cells = visible.map((key, index) => cell(labels[index], valueOf(object, key)));
    const others = rest.filter((key) => Object.hasOwn(object, key)).map((key) => [key, object[key]]);
    if (rest.length) cells.push(cell("More", foreign(others.length ? Object.fromEntries(others) : null)));
    return row({}, cells);
  });
  return table(caption, labels, rows);
}

function valueOf(object, key) {
  if (!object || !Object.hasOwn(object, key)) return h("span", { class: "faint" }, "–");
  const value = object[key];
  return typeof value === "string" && /_at$/.test(key) && parseTime(value) !== null ? when(value) : foreign(value);
}

/** Return pairs as a definition list, without pairs whose value is null. */
export function facts(pairs, className = "") {
  const items = pairs.filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value instanceof Node ? value : foreign(value))));
  return h("dl", { class: `facts ${className}` }, items);
}

export function section(title, ...children) {
  return h("section", { class: "card" }, h("h2", {}, title), children);
}

export function heading(title, ...extras) {
  return h("div", { class: "heading" }, h("h1", { tabindex: "-1" }, title), extras);
}

export function emptyState(title, ...lines) {
  return h("div", { class: "empty" }, h("p", { class: "lead" }, title), lines.map((line) => (line instanceof Node ? line : h("p", {}, line))));
}

export function command(text) {
  return h("pre", { class: "command" }, h("code", {}, text));
}

export function loading(what) {
  return h("p", { class: "faint", "aria-busy": "true" }, `Loading ${what}…`);
}

/** Return an error of the API with its hint, and a retry button if `again` is set. */
export function problem(error, again = null) {
  return h("div", { class: "notice", "data-tone": "bad", role: "alert" },
    h("p", { class: "foreign" }, h("strong", {}, error.message || "Something went wrong")),
    error.hint ? h("p", { class: "foreign" }, error.hint) : null,
    error.requestId ? h("p", { class: "faint foreign" }, `Request ${error.requestId}`) : null,
    again ? h("button", { type: "button", onclick: again }, "Try again") : null);
}

export function toast(text, tone = "good") {
  const node = h("div", { class: "toast foreign", "data-tone": tone }, clip(String(text), 300));
  const box = byId("toasts");
  box.append(node);
  while (box.children.length > 4) box.firstChild.remove();
  setTimeout(() => node.remove(), tone === "bad" ? 10_000 : 5_000);
}

let announcedAt = 0;

/** Announce a text to screen readers, at most every `everyMs`. */
export function announce(text, { everyMs = 4000 } = {}) {
  if (Date.now() - announcedAt < everyMs) return;
  announcedAt = Date.now();
  byId("announcer").textContent = text;
}

/** Open a confirmation dialog; resolve to true if the user confirms. */
export function confirmed(title, text, yes) {
  const dialog = byId("confirm-dialog");
  byId("confirm-title").textContent = title;
  byId("confirm-text").textContent = text;
  byId("confirm-yes").textContent = yes;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

/** Run an action behind a button that cannot be pressed twice. */
export async function busy(button, action) {
  if (button.getAttribute("aria-disabled") === "true") return;
  button.setAttribute("aria-disabled", "true");
  try {
    await action();
  } finally {
    button.removeAttribute("aria-disabled");
  }
}
