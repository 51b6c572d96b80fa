// One scenario: its picture, its steps, the unsigned transaction, its job.

import { get, post } from "./api.js";
import { keptArrivals } from "./arrivals.js";
import { copyButton, field, fill, form, h, problemOf, say } from "./dom.js";
import { grouped, when } from "./format.js";
import { jobPart } from "./job.js";
import { pictureOf } from "./picture.js";
import { transactionPart } from "./transactions.js";

export async function scenarioView(id, signal) {
  const scenario = await post("/api/scenario/show", { id }, signal);
  const list = steps(scenario, (node) => picture.select(node));
  const picture = pictureOf(scenario, signal, list.select);
  for (const [node, words] of Object.entries(keptArrivals(id))) picture.arrive(node, words);
  return h("section", {},
    titlePart(scenario),
    picture.element,
    list.element,
    problems(scenario, scenario.problems.filter(({ waiting }) => !waiting)),
    waiting(scenario, scenario.problems.filter(({ waiting }) => waiting)),
    transactionPart(scenario, signal),
    jobPart(scenario, signal, (status) => picture.mark(outcomesOf(scenario, status))),
    taking(scenario));
}

function titlePart(scenario) {
  const { id, title, summary, created } = scenario;
  const heading = h("h1", { tabindex: "-1" });
  const does = h("p", {});
  const tags = h("span");
  function show() {
    heading.textContent = scenario.name || grouped(title) || "Unfinished scenario";
    does.textContent = grouped(title);
    does.hidden = !scenario.name;
    fill(tags, (scenario.tags ?? []).map((tag) => [" ", h("span", { class: "tag" }, tag)]));
    if (heading.isConnected) document.title = `${heading.textContent} – scenarioctl`;
  }
  show();
  const labels = h("details", {}, h("summary", {}, "Name and tags"),
    form("Save", async (given) => {
      const wanted = (given.tags ?? "").split(/[\s,]+/).filter(Boolean);
      const former = scenario.tags ?? [];
      const added = wanted.filter((tag) => !former.includes(tag));
      const removed = former.filter((tag) => !wanted.includes(tag));
      // Tags first: they may be refused, and then nothing has changed.
      const changed = added.length || removed.length ? await post("/api/scenario/tag", { id, tags: added, remove: removed }) : null;
      const renamed = (given.name ?? "") === (scenario.name ?? "") ? null : await post("/api/scenario/rename", { id, name: given.name ?? "" });
      const last = renamed ?? changed;
      if (last) Object.assign(scenario, { name: last.name, tags: last.tags, revision: last.revision });
      show();
      labels.open = false;
      say("Saved");
    },
    field("name", "Name", { value: scenario.name ?? "", hint: "Up to 200 characters. Lists show it first." }),
    field("tags", "Tags", { value: (scenario.tags ?? []).join(" "), hint: "Words with spaces between them, for example treasury monthly." })));
  return h("div", { class: "title" },
    heading, does,
    h("p", { class: "hint" }, h("code", {}, id), " · ", summary, " · created ", when(created), tags),
    h("p", { class: "actions" },
      h("a", { class: "button", href: `#/edit/${encodeURIComponent(id)}` }, "Edit"),
      h("a", { class: "button", href: `#/duplicate/${encodeURIComponent(id)}` }, "Duplicate and edit")),
    labels);
}

// The type comes from an editor and may be long.
const brief = (text) => (text.length > 40 ? `${text.slice(0, 39)}…` : text);
// More steps get a scroll bar of their own, so that the actions below stay in reach.
const SEEN = 12;

// A click on a step calls `selected(node)`; `select(node)` marks one, which the picture was asked for.
function steps({ nodes }, selected) {
  const items = new Map(nodes.map((node) => [node.id, h("button", {
    type: "button", class: "step", onclick: () => { select(node.id); selected(node.id); },
  }, h("span", { class: "kind" }, brief(node.step || node.type || "?")), " ", h("span", {}, node.text))]));
  const list = h("ol", { class: "steps" }, [...items.values()].map((item) => h("li", {}, item)));

  function select(id) {
    for (const item of items.values()) item.removeAttribute("aria-current");
    items.get(id)?.setAttribute("aria-current", "step");
    items.get(id)?.scrollIntoView({ block: "nearest" });
  }

  const element = h("section", { "aria-labelledby": "steps" },
    h("h2", { id: "steps" }, "Steps"),
    nodes.length
      ? nodes.length > SEEN ? h("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Steps" }, list) : list
      : h("p", {}, "This diagram has no steps."));
  return { element, select };
}

// What the last run did with each step, or for which step the run in progress waits.
function outcomesOf({ nodes }, { executing, step, last_steps: last }) {
  if (!executing) return last ?? {};
  const [kind, what] = step.split(" ");
  const waiting = nodes.filter(({ type, text }) => type === kind && (kind !== "webhook" || text.includes(what)));
  return waiting.length === 1 ? { [waiting[0].id]: "waiting" } : {};
}

// "Step 2", for the id of a node.
function stepName({ nodes }, id) {
  const at = nodes.findIndex((node) => node.id === id);
  return at < 0 ? `Node ${id}` : `Step ${at + 1}`;
}

function problems(scenario, found) {
  if (!found.length) return null;
  return h("section", { class: "notice", "aria-labelledby": "problems" },
    h("h2", { id: "problems" }, found.length === 1 ? "1 problem" : `${found.length} problems`),
    listed(scenario, found));
}

function waiting(scenario, found) {
  if (!found.length) return null;
  return h("section", { class: "notice", "aria-labelledby": "waiting" },
    h("h2", { id: "waiting" }, "Waiting for data"),
    listed(scenario, found));
}

function listed(scenario, found) {
  return h("ul", {}, found.map(({ node, problem }) => h("li", {}, h("b", { title: node ? `Node ${node}` : null }, node ? stepName(scenario, node) : "Diagram"), ": ", problem)));
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
