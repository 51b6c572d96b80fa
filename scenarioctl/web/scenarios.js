// The list of all stored scenarios, with a search for what it shows.

import { get, onGone } from "./api.js";
import { empty, fill, h, problemOf, selection } from "./dom.js";
import { chains } from "./known.js";
import { scenarioRow, scenarioTable } from "./scenario_rows.js";

const PAGE = 50;

const begin = () => empty("No scenarios yet. A scenario is a transaction, or several, that you sign with your wallet.",
  ["#/new/transfer", "New transfer"], ["#/new/swap", "New swap"], ["#/import", "Import"]);

export async function scenariosView(signal) {
  const rows = h("tbody");
  const count = h("div", { class: "hint", role: "status" });
  const more = h("button", { type: "button", hidden: true }, "Show more");
  const trouble = h("div");
  const search = h("input", { type: "search", id: "search", placeholder: "Name, chain, id …", autocomplete: "off" });
  const chain = selection("chain", "Chain", [["", "All"], ...(await chains()).map(({ name, title }) => [name, title])], "");
  const chainBox = chain.querySelector("select");
  let next = "";
  let asked = 0;

  async function load(after) {
    const number = ++asked;
    const page = await get("/api/scenarios", {
      limit: PAGE, after, search: search.value.trim(), chain: chainBox.value, sort: "created", descending: "true",
    }, signal);
    // An answer to an earlier search must not overwrite this one.
    if (number !== asked) return;
    if (!after) fill(rows);
    rows.append(...page.scenarios.map(scenarioRow));
    next = page.next ?? "";
    more.hidden = !next;
    const told = page.total === 1 ? "1 scenario" : `${page.total} scenarios`;
    const isAll = !search.value && !chainBox.value;
    filter.hidden = isAll && !page.total;
    fill(count, page.total ? told : isAll ? begin() : "No matching scenarios.");
    table.hidden = !page.total;
    fill(trouble);
  }

  const attempt = (after) => load(after).catch((error) => { if (!signal.aborted) fill(trouble, problemOf(error, () => attempt(after))); });
  let timer;
  const again = () => { clearTimeout(timer); timer = setTimeout(() => attempt(""), 150); };
  search.addEventListener("input", again);
  chainBox.addEventListener("change", again);
  more.addEventListener("click", () => attempt(next));
  onGone((gone) => { if (!gone) again(); }, signal);

  const filter = h("form", { class: "filter", role: "search", onsubmit: (event) => event.preventDefault() },
    h("div", { class: "field" }, h("label", { for: "search" }, "Search"), search), chain);
  const table = scenarioTable("Scenarios, newest first", rows);
  table.hidden = true;
  await load("");
  return h("section", {},
    h("h1", { tabindex: "-1" }, "Scenarios"),
    filter, trouble, count, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Scenarios" }, table), h("p", {}, more));
}
