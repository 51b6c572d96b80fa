// The dialogs of the page: a form that somebody submits or cancels, and a question with two answers.

import { h } from "./dom.js";

let count = 0;

// Shows `contents` below `title`, with a button that submits and one that cancels, as Escape does.  Returns whether somebody
// submitted it; the browser puts the focus back.
export function dialog(title, contents, { submit, cancel = "Cancel", danger = false }) {
  const id = `dialog-${++count}`;
  const element = h("dialog", { "aria-labelledby": id, "aria-describedby": `${id}-text` },
    h("form", { method: "dialog" },
      h("h2", { id }, title),
      h("div", { id: `${id}-text` }, contents),
      h("div", { class: "actions" },
        h("button", { type: "submit", value: "submit", class: danger ? "danger" : "primary" }, submit),
        h("button", { type: "submit", value: "", formnovalidate: true, autofocus: danger }, cancel))));
  document.body.append(element);
  element.showModal();
  // It belongs to the view that was left.
  const close = () => element.close();
  addEventListener("hashchange", close);
  return new Promise((settle) => element.addEventListener("close", () => {
    removeEventListener("hashchange", close);
    element.remove();
    settle(element.returnValue === "submit");
  }));
}

// Asks before something that can't be undone: a press of Enter alone cancels.
export function confirmed(title, sentence, submit, cancel = "Cancel") {
  return dialog(title, h("p", {}, sentence), { submit, cancel, danger: true });
}
