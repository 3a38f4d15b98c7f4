// Crawl statistics by site.

import { get } from "./api.js";
import { cell, command, emptyState, h, heading, loading, row, table, when } from "./dom.js";
import { bytes, duration, plain } from "./format.js";

const MOST = 200;
const COLUMNS = ["Site", "Done", "Failed", "Skipped", "Error rate", "Failed for", "Received", "Mean time", "Seen"];

function kinds(counts) {
  const parts = Object.entries(counts ?? {}).sort(([, a], [, b]) => b - a).map(([kind, pages]) => `${kind} ${plain(pages)}`);
  return parts.length ? h("span", { class: "foreign" }, parts.join(", ")) : h("span", { class: "faint" }, "–");
}

function siteRow(site) {
  const percent = site.error_rate === null ? "–" : `${(site.error_rate * 100).toFixed(1)} %`;
  return row({ "data-id": site.host },
    cell("Site", h("span", { class: "foreign" }, site.host)),
    cell("Done", plain(site.pages_done)),
    cell("Failed", h("span", { class: "failure", "data-tone": site.pages_failed ? "bad" : "muted" }, plain(site.pages_failed))),
    cell("Skipped", plain(site.pages_skipped)),
    cell("Error rate", percent),
    cell("Failed for", kinds(site.failed)),
    cell("Received", bytes(site.bytes)),
    cell("Mean time", site.mean_ms === null ? "–" : duration(site.mean_ms)),
    cell("Seen", when(site.seen_at)));
}

export async function showSites(view, { signal }) {
  const box = h("div", {}, loading("sites"));
  view.append(heading("Sites"), box);
  const sites = await get("/sites/statistics", { limit: MOST }, { signal });
  box.replaceChildren(sites.length
    ? table("Sites, the latest first", COLUMNS, sites.map(siteRow), "sites")
    : emptyState("No site has been crawled yet", "Crawls count here what became of their pages:", command("corral crawl URL --depth 2")));
}
