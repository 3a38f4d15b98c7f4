// The optional bearer token: kept for this tab only, asked for once, never nagging.

import { byId } from "./dom.js";

const KEY = "corral.token";
let asking = null; // the one open question, shared by every request that waits for it
let dismissed = false;
let wanted = false;

export function token() {
  return sessionStorage.getItem(KEY) ?? "";
}

/** Drop a token the server refused, unless another one has been given meanwhile. */
export function forgetRefusedToken(used) {
  if (used && used === token()) sessionStorage.removeItem(KEY);
  wanted = true;
  showButton();
}

/** True once there is a token to try. Background requests (quiet) never open the dialog after a "not now". */
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
      const given = input.value.trim().replace(/^Bearer\s+/i, "");
      input.value = "";
      const usable = dialog.returnValue === "use" && /^[\x21-\x7e]+$/.test(given);
      dismissed = !usable;
      if (usable) sessionStorage.setItem(KEY, given);
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

/** Wire the dialog and the header's button; `reload` shows the page again with what is now known. */
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
