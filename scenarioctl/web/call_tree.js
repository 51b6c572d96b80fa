// A decoded call as a tree, and the bytes of its transaction.

import { h } from "./dom.js";

export const hexOf = (tx) => h("pre", { class: "hex", tabindex: "0", "aria-label": "Transaction, hex" }, tx);

// The call as a tree, after the bytes of its transaction if they are given.
export function argumentsOf(decoded, tx = "", copies = null) {
  return h("details", {}, h("summary", {}, tx ? "Bytes and arguments of the call" : "Arguments of the call"), tx && hexOf(tx), copies, tree(decoded.call));
}

// All payments of a batch, which the sentence above only sums up.
export function paymentsOf({ payments = [] }) {
  return payments.length > 0 && h("details", {}, h("summary", {}, `All ${payments.length} payments`),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Payments" }, h("table", { class: "list" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Amount"), h("th", { scope: "col" }, "Account"))),
      h("tbody", {}, payments.map(({ amount, account }) => h("tr", {}, h("td", {}, amount), h("td", {}, h("code", {}, account))))))));
}

export function tree(value) {
  if (Array.isArray(value)) return value.length ? h("ul", {}, value.map((each) => h("li", {}, tree(each)))) : "(none)";
  if (value !== null && typeof value === "object") {
    return h("ul", {}, Object.entries(value).map(([name, each]) => h("li", {}, h("b", {}, name), ": ", tree(each))));
  }
  return h("code", {}, value === null ? "none" : String(value));
}
