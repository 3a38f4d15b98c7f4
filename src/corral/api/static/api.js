// Requests to the server: token, errors, cursors, idempotency keys.

import { askForToken, forgetRefusedToken, token } from "./auth.js";
import { learnClock } from "./format.js";

const TIMEOUT_MS = 60_000;

export class ApiError extends Error {
  constructor(status, { message, code = "", field = "", hint = "", request_id: requestId = "" }) {
    super(message);
    Object.assign(this, { status, code, field: String(field ?? ""), hint, requestId });
  }
}

export function isAbort(error) {
  return error?.name === "AbortError";
}

/** Return the URL of a path. It is relative to the page, so that a path prefix of a proxy works. */
export function address(path, query = {}) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== null && value !== undefined && value !== "") parameters.set(name, value);
  const text = parameters.toString();
  return path.replace(/^\//, "") + (text ? `?${text}` : "");
}

/** Send a request with the token, and prompt for a token if the server requires one. Return the Response of any status. */
export async function send(url, options = {}, { quiet = false } = {}) {
  for (;;) {
    const used = token();
    const headers = { Accept: "application/json", ...options.headers };
    if (used) headers.Authorization = `Bearer ${used}`;
    const response = await fetch(url, { ...options, headers, cache: "no-store", credentials: "same-origin", redirect: "error" });
    learnClock(response.headers.get("Date"));
    if (response.status !== 401) return response;
    forgetRefusedToken(used);
    if (!(await askForToken({ refused: Boolean(used), quiet, signal: options.signal }))) return response;
  }
}

async function errorFrom(response) {
  let body = null;
  try {
    body = await response.json();
  } catch {
    // Not an answer of Corral, such as the page of a proxy: only the status is known.
  }
  if (body?.error && typeof body.error === "object") return new ApiError(response.status, { message: `Error ${response.status}`, ...body.error });
  const first = Array.isArray(body?.detail) ? body.detail[0] : null;
  if (first) return new ApiError(response.status, { message: String(first.msg), field: (first.loc ?? []).slice(1).join(".") });
  const message = typeof body?.detail === "string" ? body.detail : `The server answered ${response.status} ${response.statusText}`.trim();
  return new ApiError(response.status, { message, hint: retryHint(response) });
}

function retryHint(response) {
  const after = response.headers.get("Retry-After");
  return after ? `Try again in ${after} s.` : "";
}

/** Return a signal that fires with `signal`, or when the request takes too long. */
function withTimeout(signal) {
  const controller = new AbortController();
  const stop = () => controller.abort();
  if (signal?.aborted) stop();
  signal?.addEventListener("abort", stop, { once: true });
  const timer = setTimeout(() => controller.abort(new DOMException("the server took too long to answer", "TimeoutError")), TIMEOUT_MS);
  return { signal: controller.signal, done: () => { clearTimeout(timer); signal?.removeEventListener("abort", stop); } };
}

async function request(method, path, { query, body, headers = {}, signal, quiet, accept = [] } = {}) {
  const limit = withTimeout(signal);
  try {
    const options = { method, signal: limit.signal, headers: { ...headers } };
    if (body !== undefined) {
      options.body = JSON.stringify(body);
      options.headers["Content-Type"] = "application/json";
    }
    const response = await send(address(path, query), options, { quiet });
    if (!response.ok && !accept.includes(response.status)) throw await errorFrom(response);
    const text = await response.text();
    return { data: text ? JSON.parse(text) : null, response };
  } catch (error) {
    if (error instanceof ApiError || isAbort(error)) throw error;
    if (error?.name === "TimeoutError") throw new ApiError(0, { code: "timeout", message: "The server took too long to answer" });
    throw new ApiError(0, { code: "unreachable", message: "The server cannot be reached", hint: "Is `corral serve` running?" });
  } finally {
    limit.done();
  }
}

export async function get(path, query, options = {}) {
  return (await request("GET", path, { query, ...options })).data;
}

/** Return one page of a list: {items, next}; next is null on the last page. */
export async function list(path, query, options = {}) {
  const { data, response } = await request("GET", path, { query, ...options });
  return { items: Array.isArray(data) ? data : [], next: response.headers.get("X-Next-Cursor") || null };
}

export async function post(path, body, options = {}) {
  return (await request("POST", path, { body, ...options })).data;
}

export async function remove(path, options = {}) {
  return (await request("DELETE", path, options)).data;
}

/** Return a picture as a data URL: an <img> cannot send the token. */
export async function picture(path, { signal } = {}) {
  const response = await send(address(path), { signal, headers: { Accept: "image/png" } });
  if (!response.ok) throw await errorFrom(response);
  const reader = new FileReader();
  const read = new Promise((resolve, reject) => { reader.onload = resolve; reader.onerror = () => reject(reader.error); });
  reader.readAsDataURL(new Blob([await response.arrayBuffer()], { type: "image/png" }));
  await read;
  return reader.result;
}

/** Save a file. Its content is foreign, so it is never displayed. */
export async function download(path, name, { signal } = {}) {
  const response = await send(address(path), { signal, headers: { Accept: "*/*" } });
  if (!response.ok) throw await errorFrom(response);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([await response.arrayBuffer()], { type: "application/octet-stream" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Save a large file: the browser streams it to disk, unless the request needs a token, which a link cannot send. */
export async function save(path, name, query = {}) {
  if (token()) return download(address(path, query), name);
  const link = document.createElement("a");
  link.href = address(path, query);
  link.download = name;
  link.click();
}

const openKeys = new Map();

/** Send a POST that creates something. A repetition after a lost answer has the same key, so it creates only once. */
export async function create(path, body) {
  const what = `${path}\n${JSON.stringify(body ?? null)}`;
  const key = openKeys.get(what) ?? randomKey();
  openKeys.set(what, key);
  try {
    const created = await post(path, body, { headers: { "Idempotency-Key": key } });
    openKeys.delete(what);
    return created;
  } catch (error) {
    if (error.status >= 400 && error.status < 500) openKeys.delete(what);
    throw error;
  }
}

// crypto.randomUUID exists only on https and localhost; this works everywhere.
function randomKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
