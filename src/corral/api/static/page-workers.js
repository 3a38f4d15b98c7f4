// The workers, the runs they hold, and the queues.

import { get } from "./api.js";
import { cell, command, elapsed, emptyState, h, heading, loading, row, section, table } from "./dom.js";
import { count, duration, plain, shortId } from "./format.js";
import { every } from "./poll.js";
import { workerStateOf } from "./states.js";

const MOST = 200;
const LOOK_EVERY_MS = 2000;
const WORKERS = ["State", "Worker", "Role", "Queues", "Processes", "Holds", "Up", "Seen", "Version"];
const QUEUES = ["Queue", "Due", "Later", "Held", "Running", "Oldest waits"];
const HELD = ["Run", "Kind", "Worker", "Since", "Lease left"];

function nothing(text = "–") {
  return h("span", { class: "faint" }, text);
}

function nameOf(worker) {
  return h("span", { class: "foreign" }, `${worker.host}:${worker.pid}`);
}

function workerRow(worker) {
  const { label, tone } = workerStateOf(worker.state);
  return row({ "data-id": worker.owner },
    cell("State", h("span", { class: "badge", "data-tone": tone }, label)),
    cell("Worker", nameOf(worker)),
    cell("Role", plain(worker.role)),
    cell("Queues", worker.queues.length ? worker.queues.join(", ") : nothing("one run")),
    cell("Processes", plain(worker.processes)),
    cell("Holds", plain(worker.holding)),
    cell("Up", worker.state === "lost" ? nothing() : elapsed(worker.started_at, null)),
    cell("Seen", worker.seen_s < 5 ? "just now" : `${duration(Math.round(worker.seen_s) * 1000)} ago`),
    cell("Version", plain(worker.version)));
}

function depths(queue, what) {
  const parts = queue.bands.filter((band) => band[what]).map((band) => `${band.priority} ${plain(band[what])}`);
  return [plain(queue[what]), parts.length ? h("span", { class: "faint" }, ` ${parts.join(", ")}`) : null];
}

function queueRow(queue, hasBroker, served) {
  const waits = queue.oldest_s !== null && !served.has(queue.queue);
  return row({ "data-id": queue.queue },
    cell("Queue", plain(queue.queue)),
    cell("Due", depths(queue, "due")),
    cell("Later", depths(queue, "later")),
    cell("Held", depths(queue, "held")),
    cell("Running", plain(queue.running)),
    cell("Oldest waits", queue.oldest_s === null ? nothing() : h("strong", { "data-tone": waits ? "bad" : "neutral" }, duration(queue.oldest_s * 1000))),
    hasBroker ? cell("Messages", plain(queue.messages)) : null);
}

function heldRow(worker, run) {
  return row({ "data-id": run.run_id },
    cell("Run", h("a", { href: `#/${run.kind === "crawl" ? "crawls" : "runs"}/${encodeURIComponent(run.run_id)}`, title: run.run_id }, shortId(run.run_id))),
    cell("Kind", plain(run.kind)),
    cell("Worker", nameOf(worker)),
    cell("Since", elapsed(run.since, null)),
    cell("Lease left", run.lease_left_s < 0 ? h("strong", { "data-tone": "bad" }, "run out") : duration(run.lease_left_s * 1000)));
}

function neglect(queues, served) {
  const waiting = queues.filter((queue) => queue.due && !served.has(queue.queue));
  return waiting.map((queue) => h("div", { class: "notice", "data-tone": "bad", role: "alert" },
    h("p", {}, h("strong", {}, `${count(queue.due, "run")} due in the queue ${queue.queue}, and no worker serves it.`)),
    command("corral worker")));
}

function drawn(workers, queues) {
  const served = new Set(workers.filter((worker) => worker.state === "live").flatMap((worker) => worker.queues));
  const hasBroker = queues.some((queue) => queue.messages !== null);
  const held = workers.flatMap((worker) => worker.runs.map((run) => heldRow(worker, run)));
  const unseen = workers.reduce((sum, worker) => sum + worker.holding - worker.runs.length, 0);
  return [
    ...neglect(queues, served),
    workers.length
      ? table("Workers on record", WORKERS, workers.map(workerRow), "workers")
      : emptyState("No worker is there", "What is due waits until one is started:", command("corral worker")),
    section("Queues", table("Queues", hasBroker ? [...QUEUES, "Messages"] : QUEUES, queues.map((queue) => queueRow(queue, hasBroker, served)), "queues")),
    held.length ? section("What they hold", table("Runs that workers hold", HELD, held, "held"), unseen ? h("p", { class: "faint" }, `and ${count(unseen, "run")} more`) : null) : null,
  ];
}

export async function showWorkers(view, { signal, setLive }) {
  const box = h("div", { class: "view" }, loading("workers"));
  view.append(heading("Workers"), box);
  let lastText = "";
  await every(LOOK_EVERY_MS, signal, async () => {
    const [workers, queues] = await Promise.all([get("/workers", { limit: MOST }, { signal }), get("/queues", {}, { signal })]);
    const text = JSON.stringify([workers, queues]);
    if (text === lastText) return true;
    lastText = text;
    const focused = box.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    box.replaceChildren(...drawn(workers, queues).filter(Boolean));
    if (focused) [...box.querySelectorAll("a")].find((link) => link.getAttribute("href") === focused)?.focus({ preventScroll: true });
    return true;
  }, setLive);
}
