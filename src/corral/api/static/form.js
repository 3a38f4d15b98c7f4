// Forms: labelled controls, each with an element for the server's error about it.

import { h } from "./dom.js";

export function choice(prefix, name, options, chosen) {
  return h("select", { name, id: `${prefix}-${name}` }, options.map(([value, label]) => h("option", { value, selected: value === chosen }, label)));
}

export function input(prefix, name, attributes = {}) {
  return h("input", { name, id: `${prefix}-${name}`, autocomplete: "off", ...attributes });
}

/** Return a labelled control with an element for its error. */
export function labelled(prefix, name, label, control, help = "") {
  control.setAttribute("aria-describedby", `${prefix}-${name}-help ${prefix}-${name}-error`);
  return h("div", { class: "field", "data-field": name },
    h("label", { for: `${prefix}-${name}` }, label), control,
    h("p", { class: "help", id: `${prefix}-${name}-help` }, help),
    h("p", { class: "error foreign", id: `${prefix}-${name}-error`, role: "alert" }));
}

export function check(name, label, isOn) {
  return h("label", { class: "check" }, h("input", { type: "checkbox", name, checked: isOn }), label);
}

export function clearErrors(form) {
  form.querySelector(".form-error").replaceChildren();
  for (const field of form.querySelectorAll("[data-field]")) {
    field.querySelector(".error").replaceChildren();
    field.querySelector("input, select").removeAttribute("aria-invalid");
  }
}

/** Show an error at its control; return false if there is no such control. */
export function showFieldError(form, name, message, hint = "") {
  const field = [...form.querySelectorAll("[data-field]")].find((node) => node.dataset.field === name);
  if (!field) return false;
  field.querySelector(".error").replaceChildren(message, ...(hint ? [h("span", { class: "hint" }, hint)] : []));
  const control = field.querySelector("input:not([hidden]), select");
  control.setAttribute("aria-invalid", "true");
  for (let fold = field.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  control.focus();
  return true;
}

/** "body.fields.0.name" and "fields[0]" both belong to the control called "fields". */
export function controlFor(field) {
  return field.replace(/^body\./, "").split(/[.[]/)[0];
}
