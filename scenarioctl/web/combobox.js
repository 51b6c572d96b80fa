// A box with a list to choose from, which shrinks to what is typed: by the words of an option, its value, or what else it is known by.

import { fill, h } from "./dom.js";

// Options that are drawn; the others are found by typing.
const MOST = 60;

// `options()` returns the options, each `{value, words, also, mark}`; `changed(value, typed)` hears of a choice, and of what is typed: of any
// text if it is `free`.
export function combobox(attributes, options, changed, { free = false } = {}) {
  const list = h("ul", { id: `${attributes.id}-list`, role: "listbox", class: "options", hidden: true, "aria-label": "Suggestions" });
  const input = h("input", { type: "text", role: "combobox", autocomplete: "off", spellcheck: "false", autocapitalize: "off", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": list.id, ...attributes });
  let value = "";
  let at = -1;
  let shown = [];

  const find = (text) => {
    const wanted = text.trim().toLowerCase();
    return options().find((each) => (wanted ? [each.value, each.words, ...each.also ?? []].some((one) => one.toLowerCase() === wanted) : each.value === ""));
  };

  function open(typed) {
    const wanted = typed.trim().toLowerCase();
    const found = options().filter((each) => [each.value, each.words, ...each.also ?? []].some((one) => one.toLowerCase().includes(wanted)));
    const exact = wanted && find(wanted)?.value;
    const first = (each) => (each.value === exact ? 0 : each.value.toLowerCase().startsWith(wanted) || each.words.toLowerCase().startsWith(wanted) ? 1 : 2);
    shown = found.sort((one, two) => first(one) - first(two)).slice(0, MOST);
    at = wanted && shown.length ? 0 : -1;
    fill(list, shown.map((each, number) => h("li", {
      id: `${list.id}-${number}`, role: "option", "aria-selected": "false",
      // The box keeps the focus.
      onpointerdown: (event) => event.preventDefault(), onclick: () => pick(each),
    }, each.mark?.(), h("span", {}, each.words))), found.length > MOST && h("li", { class: "hint", "aria-disabled": "true" }, `And ${found.length - MOST} more: type to find them.`));
    list.hidden = !shown.length;
    input.setAttribute("aria-expanded", String(!list.hidden));
    point();
  }

  function close() {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function point() {
    for (const [number, item] of [...list.children].entries()) item.setAttribute("aria-selected", String(number === at));
    if (at < 0) input.removeAttribute("aria-activedescendant");
    else {
      input.setAttribute("aria-activedescendant", `${list.id}-${at}`);
      list.children[at].scrollIntoView({ block: "nearest" });
    }
  }

  function pick(each) {
    close();
    show(each.value);
    changed(each.value, false);
  }

  // Shows a value: the words of its option, or what was typed.
  function show(given) {
    value = given;
    input.value = find(given)?.words ?? given;
  }

  input.addEventListener("focus", () => input.select());
  input.addEventListener("click", () => open(""));
  input.addEventListener("input", () => {
    open(input.value);
    const found = find(input.value);
    if (!found && !free) return;
    value = found?.value ?? input.value;
    changed(value, true);
  });
  input.addEventListener("blur", () => {
    close();
    show(value);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !list.hidden) {
      event.stopPropagation();
      close();
    } else if (event.key === "Enter" && !list.hidden && at >= 0) {
      event.preventDefault();
      pick(shown[at]);
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (list.hidden) open("");
      if (!shown.length) return;
      at = (at + (event.key === "ArrowDown" ? 1 : -1) + shown.length) % shown.length;
      point();
    }
  });
  return { input, list, show, find };
}
