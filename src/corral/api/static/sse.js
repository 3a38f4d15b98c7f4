// Server-sent events over fetch, because EventSource cannot send a token.

import { address, send } from "./api.js";

const SILENCE_MS = 45_000; // three missed heartbeats
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30_000;

/** Return a function that takes text in any pieces; `onEvent({type, data, id})` gets each event, `onRetry(ms)` each `retry`. */
export function parser(onEvent, onRetry = () => {}) {
  let rest = "";
  let type = "";
  let data = [];
  let id = "";
  let isFirst = true;

  function dispatch() {
    if (data.length) onEvent({ type: type || "message", data: data.join("\n"), id });
    type = "";
    data = [];
  }

  function line(text) {
    if (text === "") return dispatch();
    const colon = text.indexOf(":");
    if (colon === 0) return;
    const name = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? "" : text.slice(colon + 1).replace(/^ /, "");
    if (name === "event") type = value;
    else if (name === "data") data.push(value);
    else if (name === "id" && !value.includes("\0")) id = value;
    else if (name === "retry" && /^\d+$/.test(value)) onRetry(Number(value));
  }

  return (chunk) => {
    rest += chunk;
    if (isFirst && rest) {
      rest = rest.replace(/^\uFEFF/, "");
      isFirst = false;
    }
    // A CR at the end may be half of a CRLF: wait for the next chunk.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop();
    lines.forEach(line);
  };
}

/**
 * Keep a stream open until the signal fires or `onEnd` returns false after a clean end.
 * `onEvent(type, value, id)` gets parsed JSON; `onStatus("open" | "waiting" | "closed")` gets the state.
 * While the tab is hidden the connection is closed: browsers allow only six per server.
 */
export async function follow(path, { query, lastId = "", signal, onEvent, onOpen = () => {}, onStatus = () => {}, onEnd = () => true }) {
  let wait = FIRST_WAIT_MS;
  const position = { id: lastId };
  while (!signal.aborted) {
    await visible(signal);
    if (signal.aborted) break;
    let hasEvents = false;
    try {
      const isOver = await once(path, query, position, signal, {
        onOpen: () => { onStatus("open"); onOpen(); },
        onEvent: (event) => { hasEvents = true; deliver(event, onEvent); },
      });
      if (isOver && !(await onEnd())) break;
    } catch (error) {
      if (signal.aborted) break;
      if ([400, 404, 409, 410, 422].includes(error.status)) position.id = ""; // the server no longer knows this position
    }
    if (signal.aborted) break;
    if (document.hidden) continue;
    onStatus("waiting");
    if (hasEvents) wait = FIRST_WAIT_MS;
    await pause(wait * (0.75 + Math.random() / 2), signal);
    wait = Math.min(LONGEST_WAIT_MS, wait * 2);
  }
  onStatus("closed");
}

function deliver({ type, data, id }, onEvent) {
  let value;
  try {
    value = JSON.parse(data);
  } catch {
    return; // not an event of Corral
  }
  onEvent(type, value, id);
}

/** Open one connection. Return true if the server ended it, false if we closed it because the tab is hidden. */
async function once(path, query, position, signal, { onOpen, onEvent }) {
  const controller = new AbortController();
  let isReleased = false;
  let timer = 0;
  const stop = () => controller.abort();
  const hide = () => { if (document.hidden) { isReleased = true; stop(); } };
  const alive = () => { clearTimeout(timer); timer = setTimeout(stop, SILENCE_MS); };
  signal.addEventListener("abort", stop, { once: true });
  document.addEventListener("visibilitychange", hide);
  try {
    alive();
    const headers = { Accept: "text/event-stream" };
    if (position.id) headers["Last-Event-ID"] = position.id;
    const response = await send(address(path, query), { headers, signal: controller.signal }, { quiet: true });
    if (!response.ok || !response.body) throw Object.assign(new Error("no stream"), { status: response.status });
    onOpen();
    const feed = parser((event) => { if (event.id) position.id = event.id; onEvent(event); });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      alive();
      const { done, value } = await reader.read();
      if (done) return true;
      feed(value);
    }
  } catch (error) {
    if (isReleased) return false;
    throw error;
  } finally {
    clearTimeout(timer);
    controller.abort();
    signal.removeEventListener("abort", stop);
    document.removeEventListener("visibilitychange", hide);
  }
}

function visible(signal) {
  if (!document.hidden || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      signal.removeEventListener("abort", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look);
  });
}

function pause(ms, signal) {
  return new Promise((resolve) => {
    const done = () => { clearTimeout(timer); signal.removeEventListener("abort", done); resolve(); };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}
