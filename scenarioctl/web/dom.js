// Elements out of data.  Text is only ever set as text: nothing that a person typed into a scenario becomes markup.

// What can stand in an element: lists are flattened, and what a condition left out is dropped.
const contents = (children) => children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);

// Replaces what `element` holds; `replaceChildren` alone would print a list or a `false` as text.
export function fill(element, ...children) {
  element.replaceChildren(...contents(children));
}

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

// A labelled field of a form; `options` become suggestions, `hint` is read out with it.
export function field(name, label, { hint = "", options = [], type = "text", multiline = false, ...attributes } = {}) {
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

export function values(form) {
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
  clearTimeout(say.timer);
  // Long sentences stand longer: so fast reads who reads slowly.
  say.timer = setTimeout(() => place.classList.remove("shown"), Math.max(4000, 80 * text.length));
}

// `text` is a value, or a function that gives it when it is asked for.
export function copyButton(label, text) {
  return h("button", {
    type: "button",
    onclick: async () => {
      const value = typeof text === "function" ? await text() : text;
      try {
        await navigator.clipboard.writeText(value);
        say(`${label}: done`);
      } catch {
        // Not every browser gives a page on plain http the clipboard.
        const area = h("textarea", { class: "offscreen", "aria-hidden": "true" });
        area.value = value;
        document.body.append(area);
        area.select();
        const done = document.execCommand("copy");
        area.remove();
        say(done ? `${label}: done` : "The browser does not let this page copy; select the text instead");
      }
    },
  }, label);
}

export function when(iso) {
  // Nanoseconds are the interface's; a person reads seconds.
  return iso ? h("time", { datetime: iso, title: iso }, `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`) : "";
}

// A form that runs one action at a time and shows the sentence of an error where it was typed.
export function form(submitLabel, action, ...fields) {
  const problem = h("div", { hidden: true });
  const button = h("button", { type: "submit", class: "primary" }, submitLabel);
  const element = h("form", {
    novalidate: true,
    onsubmit: async (event) => {
      event.preventDefault();
      problem.hidden = true;
      button.disabled = true;
      element.setAttribute("aria-busy", "true");
      try {
        await action(values(element), element);
      } catch (error) {
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

// An error of an outage is marked: it goes when the daemon is back.
export function problemOf(error) {
  return h("p", { class: error.code === "gone" ? "problem outage" : "problem", role: "alert" }, error.message);
}
