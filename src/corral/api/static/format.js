// Format values as text. Pure, except for the clock, which follows that of the server.

let skewMs = 0;

/** Learn the server's clock from a Date header, so that "3 s ago" is right on a machine whose clock is not. */
export function learnClock(dateHeader) {
  const theirs = Date.parse(dateHeader ?? "");
  if (Number.isNaN(theirs)) return;
  const skew = theirs - Date.now();
  skewMs = Math.abs(skew) > 2000 ? skew : 0;
}

export function now() {
  return Date.now() + skewMs;
}

export function parseTime(text) {
  const ms = typeof text === "string" ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}

export function fullTime(ms) {
  return new Date(ms).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

export function clockTime(ms) {
  return new Date(ms).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
}

export function relativeTime(ms) {
  const seconds = Math.round((now() - ms) / 1000);
  const away = Math.abs(seconds);
  if (away < 5) return "just now";
  const amount = span(away);
  return seconds >= 0 ? `${amount} ago` : `in ${amount}`;
}

function span(seconds) {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}

export function duration(ms) {
  if (!Number.isFinite(ms)) return "–";
  const clamped = Math.max(0, ms);
  if (clamped < 1000) return `${Math.round(clamped)} ms`;
  const seconds = clamped / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Return "12 s to 3 min", or one duration if both are equal. */
export function durationRange(lowMs, highMs) {
  const [low, high] = [duration(lowMs), duration(highMs)];
  return low === high ? low : `${low} to ${high}`;
}

export function bytes(size) {
  let rest = size;
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (rest < 1024) return unit === "B" ? `${rest} B` : `${rest.toFixed(1)} ${unit}`;
    rest /= 1024;
  }
  return `${rest.toFixed(1)} TiB`;
}

export function count(value, one, many = `${one}s`) {
  return `${value.toLocaleString()} ${value === 1 ? one : many}`;
}

/** "engine_attempts" → "Engine attempts", "delay_s" → "Delay (s)", "started_at" → "Started". */
export function words(key) {
  const text = String(key).replace(/_(s|ms)$/, " ($1)").replace(/_at$/, "").replaceAll("_", " ").trim();
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Return any JSON value as one string. */
export function plain(value) {
  if (value === null || value === undefined || value === "") return "–";
  if (typeof value === "string") return value;
  if (typeof value === "number") return Number.isInteger(value) ? value.toLocaleString() : String(Number(value.toPrecision(5)));
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value) && value.every((item) => typeof item !== "object")) return value.map(String).join(", ");
  return JSON.stringify(value);
}

export function shortId(id) {
  const text = String(id ?? "");
  return text.length > 12 ? `…${text.slice(-8)}` : text;
}

/** Return the parsed URL if it is an http or https URL, else null. */
export function webUrl(text) {
  if (typeof text !== "string" || !/^https?:\/\//i.test(text)) return null;
  try {
    const url = new URL(text);
    return url.protocol === "http:" || url.protocol === "https:" ? url : null;
  } catch {
    return null;
  }
}

export function clip(text, max) {
  return text.length > max ? `${text.slice(0, max - 1)}…` : text;
}

export function shortUrl(text, max = 72) {
  const url = webUrl(text);
  if (!url) return clip(String(text), max);
  const tail = `${url.pathname}${url.search}`;
  return clip(tail === "/" ? url.host : `${url.host}${tail}`, max);
}
