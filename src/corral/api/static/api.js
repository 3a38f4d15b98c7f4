// Talking to the server: token, errors, cursors, idempotency keys.

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

/** Paths are given from the root; they are resolved against the page, so that a prefix in front of us works. */
export function address(path, query = {}) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== null && value !== undefined && value !== "") parameters.set(name, value);
  const text = parameters.toString();
  return path.replace(/^\//, "") + (text ? `?${text}` : "");
}

/** One request with the token, asking for one where the server wants it. Answers the Response, whatever its status. */
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
    // Not ours: a proxy's page, or nothing. The status has to do.
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

/** A signal that fires with the given one, or when the request has taken too long. */
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

/** One page of a list: {items, next}; next is null on the last page. */
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

/** A picture as an address an <img> takes: it cannot send the token itself. */
export async function picture(path, { signal } = {}) {
  const response = await send(address(path), { signal, headers: { Accept: "image/png" } });
  if (!response.ok) throw await errorFrom(response);
  const reader = new FileReader();
  const read = new Promise((resolve, reject) => { reader.onload = resolve; reader.onerror = () => reject(reader.error); });
  reader.readAsDataURL(new Blob([await response.arrayBuffer()], { type: "image/png" }));
  await read;
  return reader.result;
}

/** A file handed to the person, whatever it holds: saved, never shown. */
export async function download(path, name, { signal } = {}) {
  const response = await send(address(path), { signal, headers: { Accept: "*/*" } });
  if (!response.ok) throw await errorFrom(response);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([await response.arrayBuffer()], { type: "application/octet-stream" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** A large file: straight to the disk where the browser may ask for it by itself, which it cannot with a token. */
export async function save(path, name, query = {}) {
  if (token()) return download(address(path, query), name);
  const link = document.createElement("a");
  link.href = address(path, query);
  link.download = name;
  link.click();
}

const openKeys = new Map();

/** A POST that creates something. Repeated after a lost answer it carries the same key, so it creates once. */
export async function create(path, body) {
  const what = `${path}\n${JSON.stringify(body ?? null)}`;
  const key = openKeys.get(what) ?? randomKey();
  openKeys.set(what, key);
  try {
    const made = await post(path, body, { headers: { "Idempotency-Key": key } });
    openKeys.delete(what);
    return made;
  } catch (error) {
    if (error.status >= 400 && error.status < 500) openKeys.delete(what);
    throw error;
  }
}

// crypto.randomUUID exists only on https and localhost; this works everywhere.
function randomKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
