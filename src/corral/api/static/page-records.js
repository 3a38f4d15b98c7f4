// The newest records of all runs, and their statistics.

import { get, isAbort, list } from "./api.js";
import { announce, busy, cell, command, emptyState, facts, foreign, h, heading, loading, objectTable, problem, row, section, table, toast, when } from "./dom.js";
import { clip, count, parseTime, plain, shortId, words } from "./format.js";

const PAGE = 50;
const MOST_VALUES = 12;
const COLUMNS = ["Found", "Run", "Data"];

function dataList(data) {
  if (!data || typeof data !== "object" || Array.isArray(data)) return foreign(data);
  const entries = Object.entries(data);
  const rest = entries.length - MOST_VALUES;
  return h("dl", { class: "meta" },
    entries.slice(0, MOST_VALUES).map(([key, value]) => h("div", {}, h("dt", { class: "foreign" }, clip(key, 60)), h("dd", {}, foreign(value)))),
    rest > 0 ? h("div", {}, h("dt", {}, `and ${count(rest, "more field")}`)) : null);
}

function recordRow(record) {
  return row({},
    cell("Found", when(record.created_at)),
    cell("Run", record.run_id ? h("a", { href: `#/runs/${encodeURIComponent(record.run_id)}` }, shortId(record.run_id)) : "–"),
    cell("Data", dataList(record.data)));
}

/** Return numbers and times as tiles, lists and maps as tables below. */
function statView(stats) {
  const tiles = [];
  const tables = [];
  for (const [key, value] of Object.entries(stats ?? {})) {
    if (Array.isArray(value)) {
      const objects = value.filter((item) => item && typeof item === "object").slice(0, 20);
      if (objects.length) tables.push(section(words(key), objectTable(words(key), objects)));
    } else if (value && typeof value === "object") {
      const pairs = Object.entries(value).slice(0, 20).map(([name, inner]) => [clip(name, 80), foreign(inner)]);
      if (pairs.length) tables.push(section(words(key), facts(pairs)));
    } else if (value !== null) {
      const isTime = typeof value === "string" && parseTime(value) !== null && /_at$|first|last|newest|oldest/.test(key);
      tiles.push(h("div", { class: "tile" }, h("b", {}, isTime ? when(value) : clip(plain(value), 40)), h("span", {}, words(key))));
    }
  }
  return [tiles.length ? h("div", { class: "tiles" }, tiles) : null, tables.length ? h("div", { class: "columns even" }, tables) : null].filter(Boolean);
}

async function showStats(box, signal) {
  try {
    box.replaceChildren(...statView(await get("/jobs/records/stats", {}, { signal })));
  } catch (error) {
    if (!isAbort(error)) box.replaceChildren(problem(error));
  }
}

export async function showRecords(view, { signal }) {
  const stats = h("div", {});
  const box = h("div", {}, loading("records"));
  const older = h("button", { type: "button", hidden: true }, "Load older");
  const again = h("button", { type: "button" }, "Refresh");
  view.append(heading("Records", again), stats, box, h("div", { class: "row center" }, older));
  let records = [];
  let next = null;

  const load = async (cursor) => {
    const page = await list("/jobs/records", { limit: PAGE, cursor }, { signal });
    records = cursor ? [...records, ...page.items] : page.items;
    next = page.next;
    older.hidden = !next;
    box.replaceChildren(records.length
      ? table("Records, newest first", COLUMNS, records.map(recordRow))
      : emptyState("No records yet", "Records are what runs find. Collect the first one from the command line:", command("corral scrape URL --fields title"),
        h("p", {}, "or ", h("a", { href: "#/jobs" }, "create a job"), ".")));
    return page.items.length;
  };
  const attempt = (button, action) => button.addEventListener("click", () => busy(button, async () => {
    try {
      await action();
    } catch (error) {
      if (!isAbort(error)) toast(error.message, "bad");
    }
  }));
  attempt(older, async () => announce(`${count(await load(next), "older record")} loaded`, { everyMs: 0 }));
  attempt(again, async () => {
    await Promise.all([load(null), showStats(stats, signal)]);
    announce("Records refreshed", { everyMs: 0 });
  });
  await Promise.all([load(null), showStats(stats, signal)]);
}
