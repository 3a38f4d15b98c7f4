// Poll the server while the page is visible.

import { isAbort } from "./api.js";

const LONGEST_MS = 30_000;

/**
 * Call `look` at once and then every `ms` milliseconds, until it returns false or the signal fires. The first failure is
 * thrown; later ones are retried with increasing pauses. A slow `look` is called less often: at most a tenth of the time.
 */
export async function every(ms, signal, look, onStatus = () => {}) {
  let isFirst = true;
  let failures = 0;
  while (!signal.aborted) {
    const began = performance.now();
    try {
      if (!document.hidden || isFirst) {
        const goesOn = await look();
        onStatus(goesOn ? "open" : "closed");
        if (!goesOn) return;
      }
      failures = 0;
    } catch (error) {
      if (signal.aborted || isAbort(error)) return;
      if (isFirst) throw error;
      failures += 1;
      onStatus("waiting");
    }
    isFirst = false;
    const took = performance.now() - began;
    await pause(Math.min(LONGEST_MS, Math.max(ms * 2 ** Math.min(failures, 5), took * 9)), signal);
  }
}

function pause(ms, signal) {
  return new Promise((resolve) => {
    const done = () => { clearTimeout(timer); signal.removeEventListener("abort", done); resolve(); };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}
