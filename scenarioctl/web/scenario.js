// One scenario: its picture, its steps, the unsigned transaction, its job.

import { get, post } from "./api.js";
import { copyButton, fill, h, problemOf, say, when } from "./dom.js";
import { jobPart } from "./job.js";
import { pictureOf } from "./picture.js";
import { transactionPart } from "./transaction.js";

export async function scenarioView(id, signal) {
  const scenario = await post("/api/scenario/show", { id }, signal);
  return h("section", {},
    h("div", { class: "title" },
      h("h1", { tabindex: "-1" }, scenario.name || scenario.summary || "Unfinished scenario"),
      scenario.name && h("p", {}, scenario.summary),
      h("p", { class: "hint" }, h("code", {}, scenario.id), " · created ", when(scenario.created))),
    await pictureOf(scenario, signal),
    steps(scenario),
    problems(scenario.problems.filter(({ waiting }) => !waiting)),
    waiting(scenario.problems.filter(({ waiting }) => waiting)),
    transactionPart(scenario, signal),
    jobPart(scenario, signal),
    taking(scenario));
}

// The type comes from an editor and may be long.
const brief = (text) => (text.length > 40 ? `${text.slice(0, 39)}…` : text);
// More steps get a scroll bar of their own, so that the actions below stay in reach.
const SEEN = 12;

function steps({ nodes }) {
  const list = h("ol", { class: "steps" }, nodes.map((node) => h("li", {}, h("span", { class: "kind" }, brief(node.type || "?")), " ", h("span", {}, node.text))));
  return h("section", { "aria-labelledby": "steps" },
    h("h2", { id: "steps" }, "Steps"),
    nodes.length
      ? nodes.length > SEEN ? h("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Steps" }, list) : list
      : h("p", {}, "This diagram has no steps."));
}

function problems(found) {
  if (!found.length) return null;
  return h("section", { class: "notice", "aria-labelledby": "problems" },
    h("h2", { id: "problems" }, found.length === 1 ? "1 problem" : `${found.length} problems`),
    listed(found));
}

function waiting(found) {
  if (!found.length) return null;
  return h("section", { class: "notice", "aria-labelledby": "waiting" },
    h("h2", { id: "waiting" }, "Waiting for data"),
    listed(found));
}

function listed(found) {
  return h("ul", {}, found.map(({ node, problem }) => h("li", {}, node ? h("code", {}, node) : "Diagram", ": ", problem)));
}

function taking({ id }) {
  const trouble = h("div");
  const share = async () => (await get(`/api/template/getUrl/${encodeURIComponent(id)}`)).longUrl;
  const remove = h("button", { type: "button", class: "danger" }, "Delete scenario");
  remove.addEventListener("click", async () => {
    if (!confirm(`Delete scenario ${id} and its job, log and drafts?`)) return;
    try {
      await post("/api/scenario/delete", { id });
      say(`Deleted ${id}`);
      location.hash = "#/";
    } catch (error) {
      fill(trouble, problemOf(error));
    }
  });
  return h("section", { "aria-labelledby": "taking" },
    h("h2", { id: "taking" }, "Share or delete"),
    h("div", { class: "actions" }, copyButton("Copy share string", share), copyButton("Copy link", `${location.origin}/#/create/?diagramData=${encodeURIComponent(id)}`), remove),
    trouble);
}
