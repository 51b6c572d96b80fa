// Builds elements.  Text is always set as text, so that nothing in a scenario becomes markup.

import { isUnknown, sentenceOf } from "./words.js";

// Flattens lists, and drops the children that a condition left out.
const contents = (children) => children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);

// Replaces the children of `element`; `replaceChildren` alone would print a list or `false` as text.
export function fill(element, ...children) {
  element.replaceChildren(...contents(children));
}

// Calls `draw` with one portion of `items` in each frame, so that the page stays responsive.
export async function inPortions(items, size, draw, signal) {
  for (let from = 0; from < items.length && !signal.aborted; from += size) {
    if (from) await new Promise((wake) => requestAnimationFrame(wake));
    draw(items.slice(from, from + size));
  }
}

/** @returns {any} */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...contents(children));
  return element;
}

let count = 0;
let timer = 0;

// A labeled field of a form; `options` are suggestions, and screen readers read `hint` with it.
/** @param {string} name @param {string} label @param {any} more */
export function field(name, label, more = {}) {
  const { hint = "", options = [], type = "text", multiline = false, ...attributes } = more;
  count += 1;
  const id = `field-${count}`;
  const described = hint ? `${id}-hint` : null;
  const list = options.length ? `${id}-list` : null;
  const input = multiline
    ? h("textarea", { id, name, rows: 6, "aria-describedby": described, spellcheck: "false", ...attributes })
    : h("input", { id, name, type, list, "aria-describedby": described, autocomplete: "off", spellcheck: "false", ...attributes });
  return h("div", { class: "field" },
    h("label", { for: id }, label),
    input,
    list && h("datalist", { id: list }, options.map(([value, text]) => h("option", { value }, text))),
    hint && h("p", { id: described, class: "hint" }, hint));
}

export function selection(name, label, options, value) {
  count += 1;
  const id = `field-${count}`;
  return h("div", { class: "field" },
    h("label", { for: id }, label),
    h("select", { id, name }, options.map(([each, text]) => h("option", { value: each, selected: each === value }, text))));
}

/** @returns {Record<string, string>} */
export function values(form) {
  /** @type {Record<string, string>} */
  const given = {};
  for (const [name, value] of new FormData(form)) {
    const text = String(value).trim();
    if (text !== "") given[name] = text;
  }
  return given;
}

export function say(text) {
  const place = document.getElementById("said");
  place.textContent = text;
  place.classList.add("shown");
  clearTimeout(timer);
  // Long sentences are shown longer, for slow readers.
  timer = setTimeout(() => place.classList.remove("shown"), Math.max(4000, 80 * text.length));
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    say("Copied");
  } catch {
    // Some browsers deny the clipboard to a page on plain http.
    const area = h("textarea", { class: "offscreen", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    say(done ? "Copied" : "The browser does not allow copying. Select the text instead.");
  }
}

// `text` is a value, or a function that returns it.
export function copyButton(label, text) {
  return h("button", { type: "button", class: "quiet", onclick: async () => {
    try {
      await copy(typeof text === "function" ? await text() : text);
    } catch (error) {
      say(sentenceOf(error));
    }
  } }, label);
}

// An error about what was typed into the field `name` of a form.
export function mistake(name, sentence) {
  return Object.assign(new Error(sentence), { body: { field: name } });
}

// Says at its field what is wrong with it, and goes there: an error names the field as it was sent, which is the name of its
// input, or one of its `data-names`.  Returns false if no input of `form` has that name.
export function blame(form, error) {
  const [name] = error.body?.field?.match(/^\w+/) ?? [];
  const input = name && form.querySelector(`[name="${name}"], [data-names~="${name}"]`);
  if (!input) return false;
  const id = `${input.id}-problem`;
  const described = input.getAttribute("aria-describedby") ?? "";
  input.closest(".field").append(h("p", { class: "problem", id }, sentenceOf(error, form.querySelector(`label[for="${input.id}"]`)?.textContent.replace(" (optional)", ""))));
  input.setAttribute("aria-invalid", "true");
  input.setAttribute("aria-describedby", `${described} ${id}`.trim());
  for (let closed = input.closest("details:not([open])"); closed; closed = input.closest("details:not([open])")) closed.open = true;
  input.focus();
  return true;
}

// Takes away what `blame` said.
export function pardon(form) {
  for (const input of form.querySelectorAll("[aria-invalid]")) {
    const id = `${input.id}-problem`;
    document.getElementById(id)?.remove();
    input.removeAttribute("aria-invalid");
    const others = (input.getAttribute("aria-describedby") ?? "").split(" ").filter((each) => each !== id);
    if (others.join("")) input.setAttribute("aria-describedby", others.join(" "));
    else input.removeAttribute("aria-describedby");
  }
}

// A form that runs one action at a time and shows its error in place.
export function form(submitLabel, action, ...fields) {
  const problem = h("div", { hidden: true });
  const button = h("button", { type: "submit", class: "primary" }, submitLabel);
  const element = h("form", {
    novalidate: true,
    onsubmit: async (event) => {
      event.preventDefault();
      problem.hidden = true;
      pardon(element);
      button.disabled = true;
      element.setAttribute("aria-busy", "true");
      try {
        await action(values(element), element);
      } catch (error) {
        if (blame(element, error)) return;
        fill(problem, problemOf(error));
        problem.hidden = false;
      } finally {
        button.disabled = false;
        element.removeAttribute("aria-busy");
      }
    },
  }, fields, h("div", { class: "actions" }, button), problem);
  return element;
}

// What is shown where nothing is yet: a sentence, and links to begin, the primary one first.
export function empty(sentence, ...links) {
  return h("div", { class: "empty" }, h("p", {}, sentence),
    h("div", { class: "actions" }, links.map(([href, label], at) => h("a", { class: at ? "button" : "button primary", href }, label))));
}

// What went wrong, in the words of the page; those of the daemon are under Details if they are others.  What leaves only unknown what
// is has another tone, and of an outage a class of its own: it goes when the daemon is back.  `again` asks once more.
export function problemOf(error, again = null) {
  const said = sentenceOf(error);
  const kind = isUnknown(error) ? "notice" : "problem";
  return h("div", { class: error.code === "gone" ? `${kind} outage` : kind, role: "alert" }, said,
    again && [" ", h("button", { type: "button", onclick: () => again() }, "Try again")], raw(error.message, said));
}

// What the daemon said itself, unless that is shown.
export const raw = (text, said) => text.toLowerCase() !== said.toLowerCase() && h("details", { class: "raw" }, h("summary", {}, "Details"), h("p", {}, text));
