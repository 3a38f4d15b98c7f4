// Labels, tones and actions of all states, in one place.

export const STATES = {
  queued: { label: "Queued", tone: "neutral", actions: ["pause", "cancel"] },
  running: { label: "Running", tone: "info", actions: ["pause", "cancel"] },
  paused: { label: "Paused", tone: "hold", actions: ["resume", "cancel"] },
  waiting_for_human: { label: "Needs a person", tone: "attention", actions: ["resume", "cancel"] },
  completed: { label: "Completed", tone: "good", actions: ["retry"], ended: true },
  partial: { label: "Partial", tone: "warn", actions: ["retry"], ended: true },
  failed: { label: "Failed", tone: "bad", actions: ["retry"], ended: true },
  cancelled: { label: "Cancelled", tone: "muted", actions: ["retry"], ended: true },
};

// A job that never ran does not have the state of a run.
const JOB_STATES = { validated: { label: "Ready", tone: "neutral", actions: [] } };

export const ACTIONS = {
  cancel: { label: "Cancel", done: "Run cancelled", style: "danger" },
  pause: { label: "Pause", done: "Run paused", style: "" },
  resume: { label: "Resume", done: "Run resumed", style: "primary" },
  retry: { label: "Retry", done: "New run started", style: "primary" },
};

export const HEALTH = {
  healthy: { label: "Healthy", tone: "good" },
  degraded: { label: "Degraded", tone: "warn" },
  unhealthy: { label: "Unhealthy", tone: "bad" },
  unreachable: { label: "Unreachable", tone: "bad" },
};

export const WORKER_STATES = {
  live: { label: "Live", tone: "good" },
  stopping: { label: "Stopping", tone: "hold" },
  lost: { label: "Lost", tone: "bad" },
};

export const LEVELS = { info: "neutral", warn: "warn", error: "bad" };

function lookUp(table, key) {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

export function stateOf(status) {
  const known = lookUp(STATES, status) ?? lookUp(JOB_STATES, status);
  return known ?? { label: String(status ?? "unknown"), tone: "neutral", actions: [] };
}

export function healthOf(status) {
  return lookUp(HEALTH, status) ?? { label: String(status ?? "unknown"), tone: "neutral" };
}

export function workerStateOf(state) {
  return lookUp(WORKER_STATES, state) ?? { label: String(state ?? "unknown"), tone: "neutral" };
}

export function toneOfLevel(level) {
  return lookUp(LEVELS, level) ?? "neutral";
}

export function hasEnded(status) {
  return Boolean(stateOf(status).ended);
}
