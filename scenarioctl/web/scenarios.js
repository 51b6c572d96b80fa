// The list of all stored scenarios, with search.

import { get, onGone } from "./api.js";
import { fill, h, problemOf, selection } from "./dom.js";
import { scenarioRow, scenarioTable } from "./scenario_rows.js";

const PAGE = 50;

export async function scenariosView(signal) {
  const rows = h("tbody");
  const count = h("p", { class: "hint", role: "status" });
  const more = h("button", { type: "button", hidden: true }, "Show more");
  const trouble = h("div");
  const search = h("input", { type: "search", id: "search", placeholder: "Name, summary or id", autocomplete: "off" });
  const { chains } = await get("/api/chains", {}, signal);
  const chain = selection("chain", "Chain", [["", "All"], ...chains.map(({ name, title }) => [name, title])], "");
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
    count.textContent = page.total ? told : search.value || chainBox.value ? "No matching scenarios." : "No scenarios yet. Create a transfer, a swap or a remark, or import a diagram.";
    table.hidden = !page.total;
    fill(trouble);
  }

  const tell = (error) => { if (!signal.aborted) fill(trouble, problemOf(error)); };
  let timer;
  const again = () => { clearTimeout(timer); timer = setTimeout(() => load("").catch(tell), 150); };
  search.addEventListener("input", again);
  chainBox.addEventListener("change", again);
  more.addEventListener("click", () => load(next).catch(tell));
  onGone((gone) => { if (!gone) again(); }, signal);

  const table = scenarioTable("Scenarios, newest first", rows);
  table.hidden = true;
  await load("");
  return h("section", {},
    h("h1", { tabindex: "-1" }, "Scenarios"),
    h("form", { class: "filter", role: "search", onsubmit: (event) => event.preventDefault() },
      h("div", { class: "field" }, h("label", { for: "search" }, "Search"), search), chain),
    trouble, count, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Scenarios" }, table), h("p", {}, more));
}
