// One scenario: what it does, the next step, its picture, its transactions, its steps, its job.

import { get, post } from "./api.js";
import { keptArrivals } from "./arrivals.js";
import { confirmed } from "./dialog.js";
import { copyButton, field, fill, form, h, inPortions, problemOf, say } from "./dom.js";
import { account as shown, grouped, when } from "./format.js";
import { jobPart } from "./job.js";
import { nextStep } from "./next_step.js";
import { paymentPart } from "./payments.js";
import { pictureOf } from "./picture.js";
import { transactionPart } from "./transactions.js";

export async function scenarioView(id, signal) {
  const scenario = await post("/api/scenario/show", { id }, signal);
  const list = steps(scenario, (node) => picture.select(node), signal);
  const picture = pictureOf(scenario, signal, list.select);
  for (const [node, words] of Object.entries(keptArrivals(id))) picture.arrive(node, words);
  const next = nextStep(scenario, signal);
  return h("section", { class: "scenario" },
    titlePart(scenario, next.element),
    listed(scenario, "problems", ["1 problem", "problems"], ({ waiting }) => !waiting),
    scenario.nodes.length > 0 && picture.element,
    listed(scenario, "waiting", ["Waiting for data", "steps wait for data"], ({ waiting }) => waiting),
    transactionPart(scenario, next.drafted, signal),
    paymentPart(scenario, signal),
    list.element,
    jobPart(scenario, signal, (status, again) => {
      next.told(status, again);
      if (status) picture.mark(outcomesOf(scenario, status));
    }),
    taking(scenario));
}

// "500 steps: a; b; …" is two lines: how many, and which come first.
function titleLines(title) {
  const [, count, first] = title.match(/^(\d+ steps): (.*)$/s) ?? [];
  return count ? [count, first] : [grouped(title) || "Unfinished scenario", ""];
}

function titlePart(scenario, next) {
  const { id, title, summary, created } = scenario;
  const heading = h("h1", { tabindex: "-1" });
  const does = h("p", { class: "does" });
  const [named, first] = titleLines(title);
  const tags = h("span");
  function show() {
    heading.textContent = scenario.name || named;
    does.textContent = [scenario.name && named, first].filter(Boolean).join(": ");
    does.hidden = !does.textContent;
    fill(tags, (scenario.tags ?? []).map((tag) => [" ", h("span", { class: "tag" }, tag)]));
    if (heading.isConnected) document.title = `${heading.textContent} – scenarioctl`;
  }
  show();
  const labels = h("details", {}, h("summary", {}, "Name, tags and id"),
    h("dl", { class: "facts" }, Object.entries({ Id: h("code", {}, id), Created: when(created), Path: summary.length > PATH ? `${summary.slice(0, PATH)}…` : summary })
      .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    form("Save", async (given) => {
      const wanted = (given.tags ?? "").split(/[\s,]+/).filter(Boolean);
      const former = scenario.tags ?? [];
      const added = wanted.filter((tag) => !former.includes(tag));
      const removed = former.filter((tag) => !wanted.includes(tag)).map((tag) => `-${tag}`);
      const name = given.name ?? "";
      const { revision } = await post("/api/scenario/replace", { id, name, tags: [...added, ...removed] });
      Object.assign(scenario, { name: name.trim(), tags: [...new Set(wanted)].sort(), revision });
      show();
      labels.open = false;
      say("Saved");
    },
    field("name", "Name", { value: scenario.name ?? "", hint: "Up to 200 characters. Lists show it first." }),
    field("tags", "Tags", { value: (scenario.tags ?? []).join(" "), hint: "Words with spaces between them, for example treasury monthly." })));
  // Also its drafts, and those of each step that were sent before.
  const history = scenario.sent.length > 0 && h("p", { class: "hint" }, h("a", { href: `#/history?scenario=${encodeURIComponent(id)}` }, "Sent transactions"));
  const { acting } = scenario;
  const whose = acting && h("p", { class: "acting" }, "Made as ", shown(acting.address, { name: acting.name }), ` (${acting.acting})`);
  return h("div", { class: "title" }, heading, next, does, whose, history, tags, labels);
}

// Characters of the path of a scenario.
const PATH = 300;
// The type comes from an editor and may be long.
const brief = (text) => (text.length > 40 ? `${text.slice(0, 39)}…` : text);
// More steps get a scroll bar of their own, so that the actions below stay in reach; some are drawn in each frame.
const SEEN = 12;
const PORTION = 50;

// Returns the steps, numbered as in the editor: each is the list of its nodes.  A chain belongs to the step that follows or precedes it.
function stepsOf({ nodes, edges }) {
  const kinds = new Map(nodes.map(({ id, type }) => [id, type]));
  const steps = new Map(nodes.filter(({ type }) => type !== "chain").map((node) => [node.id, [node]]));
  for (const node of nodes.filter(({ type }) => type === "chain")) {
    const to = (edges.find(({ source, target }) => source === node.id && kinds.get(target) !== "chain") ?? {}).target;
    const from = (edges.find(({ source, target }) => target === node.id && kinds.get(source) !== "chain") ?? {}).source;
    const step = steps.get(to) ?? steps.get(from);
    if (step) step.push(node);
    else steps.set(node.id, [node]);
  }
  return [...steps.values()];
}

// A click on a step calls `selected(node)`; `select(node)` marks the step of a node, which the picture was asked for.
function steps(scenario, selected, signal) {
  const found = stepsOf(scenario);
  const items = new Map();
  const list = h("ol", { class: "steps" });
  inPortions(found, PORTION, (some) => {
    for (const nodes of some) {
      const [node] = nodes;
      const item = h("button", {
        type: "button", class: "step", onclick: () => { select(node.id); selected(node.id); },
      }, h("span", { class: "kind" }, brief(node.step || node.type || "?")), " ", h("span", {}, node.text));
      for (const { id } of nodes) items.set(id, item);
      list.append(h("li", {}, item));
    }
  }, signal);

  function select(id) {
    list.querySelector("[aria-current]")?.removeAttribute("aria-current");
    items.get(id)?.setAttribute("aria-current", "step");
    items.get(id)?.scrollIntoView({ block: "nearest" });
  }

  // A single step is what the title and its transaction say.
  const element = found.length !== 1 && h("section", { "aria-labelledby": "steps" },
    h("h2", { id: "steps" }, found.length ? `${found.length} steps` : "Steps"),
    found.length
      ? found.length > SEEN ? h("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Steps" }, list) : list
      : h("p", {}, "This diagram has no steps yet. ", h("a", { href: `#/edit/${encodeURIComponent(scenario.id)}` }, "Add one"), "."));
  return { element, select };
}

// What the last run did with each step, or for which step the run in progress waits.
function outcomesOf({ nodes }, { executing, step, last_steps: last }) {
  if (!executing) return last ?? {};
  const [kind, what] = step.split(" ");
  const waiting = nodes.filter(({ type, text }) => type === kind && (kind !== "webhook" || text.includes(what)));
  return waiting.length === 1 ? { [waiting[0].id]: "waiting" } : {};
}

// A notice of the problems that `chosen` chooses, with the number of the step of each.
function listed(scenario, id, [one, several], chosen) {
  const found = scenario.problems.filter(chosen);
  if (!found.length) return null;
  const numbers = new Map(stepsOf(scenario).flatMap((nodes, at) => nodes.map(({ id: node }) => [node, `Step ${at + 1}`])));
  return h("section", { class: "notice", "aria-labelledby": id },
    h("h2", { id }, found.length === 1 ? one : `${found.length} ${several}`),
    h("ul", {}, found.map(({ node, problem }) => h("li", {}, h("b", { title: node ? `Node ${node}` : null }, node ? numbers.get(node) ?? `Node ${node}` : "Diagram"), ": ", problem))));
}

function taking({ id }) {
  const trouble = h("div");
  const share = async () => (await get(`/api/template/getUrl/${encodeURIComponent(id)}`)).longUrl;
  const remove = h("button", { type: "button", class: "danger quiet" }, "Delete scenario");
  remove.addEventListener("click", async () => {
    if (!await confirmed("Delete this scenario?", "Its job, log and drafts are deleted too.", "Delete")) return;
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
