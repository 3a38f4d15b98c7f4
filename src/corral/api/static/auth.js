// The optional bearer token: stored for this tab only, and requested once.

import { byId } from "./dom.js";

const KEY = "corral.token";
let asking = null; // the open dialog, shared by all requests that wait for a token
let dismissed = false;
let wanted = false;

export function token() {
  return sessionStorage.getItem(KEY) ?? "";
}

/** Drop a token that the server refused, unless the user has entered another one since. */
export function forgetRefusedToken(used) {
  if (used && used === token()) sessionStorage.removeItem(KEY);
  wanted = true;
  showButton();
}

/** Return true once there is a token to try. Background requests (quiet) never open the dialog after "Not now". */
export async function askForToken({ refused = false, quiet = false, signal } = {}) {
  if (token()) return true;
  if (signal?.aborted || (quiet && (dismissed || !asking))) return false;
  asking ??= openDialog(refused).finally(() => { asking = null; });
  return asking;
}

function openDialog(refused) {
  const dialog = byId("token-dialog");
  const input = byId("token-input");
  byId("token-why").textContent = refused ? "That token was refused. Paste another one." : "This server asks for a token.";
  input.value = "";
  dialog.returnValue = "";
  dialog.showModal();
  input.focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      const entered = input.value.trim().replace(/^Bearer\s+/i, "");
      input.value = "";
      const usable = dialog.returnValue === "use" && /^[\x21-\x7e]+$/.test(entered);
      dismissed = !usable;
      if (usable) sessionStorage.setItem(KEY, entered);
      showButton();
      resolve(usable);
    }, { once: true });
  });
}

function showButton() {
  const button = byId("token-button");
  button.hidden = !wanted && !token();
  button.textContent = token() ? "Forget token" : "Enter token";
}

/** Wire the dialog and the header's button; `reload` shows the page again after a token was entered. */
export function setUpAuth(reload) {
  byId("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const input = byId("token-input");
    const isToken = /^[\x21-\x7e]+$/.test(input.value.trim().replace(/^Bearer\s+/i, ""));
    input.setCustomValidity(isToken ? "" : "A token is one word of plain characters.");
    if (input.reportValidity()) byId("token-dialog").close("use");
  });
  byId("token-input").addEventListener("input", (event) => event.target.setCustomValidity(""));
  byId("token-cancel").addEventListener("click", () => byId("token-dialog").close("cancel"));
  byId("token-button").addEventListener("click", async () => {
    if (token()) {
      sessionStorage.removeItem(KEY);
      wanted = true;
      showButton();
      return;
    }
    if (await askForToken()) reload();
  });
  showButton();
}
