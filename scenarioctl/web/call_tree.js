// A decoded call as a tree, and the bytes of its transaction.

import { h } from "./dom.js";

export const hexOf = (tx) => h("pre", { class: "hex", tabindex: "0", "aria-label": "Transaction, hex" }, tx);

// The call as a tree, after the bytes of its transaction if they are given.
export function argumentsOf(decoded, tx = "") {
  return h("details", {}, h("summary", {}, tx ? "Bytes and arguments of the call" : "Arguments of the call"), tx && hexOf(tx), tree(decoded.call));
}

export function tree(value) {
  if (Array.isArray(value)) return value.length ? h("ul", {}, value.map((each) => h("li", {}, tree(each)))) : "(none)";
  if (value !== null && typeof value === "object") {
    return h("ul", {}, Object.entries(value).map(([name, each]) => h("li", {}, h("b", {}, name), ": ", tree(each))));
  }
  return h("code", {}, value === null ? "none" : String(value));
}
