// A table of scenarios: what each does, for whom, and how its last run ended.

import { h } from "./dom.js";
import { account, grouped, when } from "./format.js";
import { sentLine } from "./sent.js";

const COLUMNS = ["Scenario", "Receiver", "Last run", "Created"];

export const scenarioLink = (id) => `#/create/?diagramData=${encodeURIComponent(id)}`;

// What somebody calls it comes first, then what it does.
export function nameOf({ name, title }) {
  return name || grouped(title) || "Unfinished";
}

export function scenarioTable(caption, rows) {
  return h("table", { class: "list" },
    h("caption", { class: "offscreen" }, caption),
    h("thead", {}, h("tr", {}, COLUMNS.map((name) => h("th", { scope: "col" }, name)))),
    rows);
}

export function scenarioRow(scenario) {
  const { id, name, title, summary, receiver, last_run: run, sent, tags = [], created } = scenario;
  return h("tr", {},
    h("th", { scope: "row", title: summary },
      h("a", { href: scenarioLink(id), "data-key": `scenario ${id}` }, nameOf(scenario)),
      h("p", { class: "hint" }, name && [grouped(title), " · "], h("code", {}, id), tags.map((tag) => [" ", h("span", { class: "tag" }, tag)])),
      sent && sentLine(sent, id)),
    h("td", { class: "receiver", "data-label": receiver ? "Receiver" : null }, receiver ? account(receiver) : ""),
    h("td", { class: "when", "data-label": run ? "Last run" : null }, run ? [outcome(run.outcome), " ", when(run.finished)] : ""),
    h("td", { class: "when", "data-label": "Created" }, when(created)));
}

export function outcome(word) {
  return word === "failed" ? h("span", { class: "badge failed" }, "failed") : h("span", { class: "badge done" }, "succeeded");
}
