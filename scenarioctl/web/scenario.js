// One scenario: what it does, the next step, its transactions, its picture, its steps, its job.

import { get, post } from "./api.js";
import { confirmed } from "./dialog.js";
import { copyButton, field, fill, form, h, inPortions, problemOf, say } from "./dom.js";
import { account as shown, grouped, sentence, when } from "./format.js";
import { jobPart } from "./job.js";
import { chains } from "./known.js";
import { nextStep } from "./next_step.js";
import { paymentPart } from "./payments.js";
import { storedPicture } from "./picture.js";
import { transactionPart } from "./transactions.js";
import { isUnmet, plain, stepTitle } from "./words.js";

export async function scenarioView(id, signal) {
  const [scenario] = await Promise.all([post("/api/scenario/show", { id }, signal), chains()]);
  const list = steps(scenario, (node) => picture.select(node), signal);
  const picture = storedPicture(scenario, signal, list.select);
  const next = nextStep(scenario, signal);
  // A single step is told by its transaction; its diagram is there for who wants it.
  const diagram = scenario.nodes.length > 0 && (list.count > 1 ? picture.element : h("details", { class: "diagram" }, h("summary", {}, "Diagram"), picture.element));
  const transactions = transactionPart(scenario, next.drafted, signal);
  return h("section", { class: "scenario" },
    titlePart(scenario, next.element),
    listed(scenario, "problems", ["1 problem", "problems"], ({ waiting }) => !waiting),
    list.count > 1 ? [diagram, transactions] : [transactions, diagram],
    listed(scenario, "waiting", ["1 step waits for data", "steps wait for data"], ({ waiting }) => waiting),
    paymentPart(scenario, signal),
    list.element,
    jobPart(scenario, signal, async (status, again) => {
      next.told(status, again);
      if (status) picture.mark(await outcomesOf(scenario, status, signal));
    }),
    managing(scenario));
}

// "500 steps: a; b; …" is two lines: how many, and which come first.
function titleLines(title) {
  const [, count, first] = title.match(/^(\d+ steps): (.*)$/s) ?? [];
  return count ? [count, first] : [grouped(title) || "Unfinished scenario", ""];
}

function titlePart(scenario, next) {
  const heading = h("h1", { tabindex: "-1" });
  const does = h("p", { class: "does" });
  const [named, first] = titleLines(scenario.title);
  const tags = h("span");
  scenario.show = () => {
    heading.textContent = scenario.name || named;
    does.textContent = [scenario.name && named, first].filter(Boolean).join(": ");
    does.hidden = !does.textContent;
    fill(tags, (scenario.tags ?? []).map((tag) => [" ", h("span", { class: "tag" }, tag)]));
    if (heading.isConnected) document.title = `${heading.textContent} – scenarioctl`;
  };
  scenario.show();
  // Also its drafts, and those of each step that were sent before.
  const history = scenario.sent.length > 0 && h("p", { class: "hint" }, h("a", { href: `#/history?scenario=${encodeURIComponent(scenario.id)}` }, "Sent transactions"));
  const { acting } = scenario;
  const whose = acting && h("p", { class: "acting" }, "Made as ", shown(acting.address, { name: acting.name }), ` (${acting.acting})`);
  return h("div", { class: "title" }, heading, next, does, whose, history, tags);
}

// More steps get a scroll bar of their own, so that the actions below stay in reach; some are drawn in each frame.
const SEEN = 12;
const PORTION = 50;

// Returns the steps, numbered as in the editor: each is the list of its nodes.  A chain belongs to the step that follows or precedes it.
function stepsOf({ nodes, edges }) {
  const kinds = new Map(nodes.map(({ id, type }) => [id, type]));
  const found = new Map(nodes.filter(({ type }) => type !== "chain").map((node) => [node.id, [node]]));
  for (const node of nodes.filter(({ type }) => type === "chain")) {
    const to = (edges.find(({ source, target }) => source === node.id && kinds.get(target) !== "chain") ?? {}).target;
    const from = (edges.find(({ source, target }) => target === node.id && kinds.get(source) !== "chain") ?? {}).source;
    const step = found.get(to) ?? found.get(from);
    if (step) step.push(node);
    else found.set(node.id, [node]);
  }
  return [...found.values()];
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
      }, h("span", { class: "kind" }, stepTitle(node.step || node.type || "?")), " ", h("span", {}, sentence(node.text, true)));
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
  return { element, select, count: found.length };
}

// What the last run did with each step, or for which step the run in progress waits.  A condition that isn't met was done too.
async function outcomesOf({ id, nodes }, { executing, step, last_steps: last }, signal) {
  if (executing) {
    const [kind, what] = step.split(" ");
    const waiting = nodes.filter(({ type, text }) => type === kind && (kind !== "webhook" || text.includes(what)));
    return waiting.length === 1 ? { [waiting[0].id]: "waiting" } : {};
  }
  if (!last || !nodes.some(({ type }) => type === "condition")) return last ?? {};
  const { steps: ran } = await post("/job/steps", { id }, signal).catch(() => ({ steps: [] }));
  return { ...last, ...Object.fromEntries(ran.filter(isUnmet).map(({ node }) => [node, "unmet"])) };
}

// A list of the problems that `chosen` chooses, with the number of the step of each.
function listed(scenario, id, [one, several], chosen) {
  const found = scenario.problems.filter(chosen);
  if (!found.length) return null;
  const numbers = new Map(stepsOf(scenario).flatMap((nodes, at) => nodes.map(({ id: node }) => [node, `Step ${at + 1}`])));
  return h("section", { class: id === "waiting" ? "notice calm" : "notice", "aria-labelledby": id },
    h("h2", { id }, found.length === 1 ? one : `${found.length} ${several}`),
    h("ul", {}, found.map(({ node, problem }) => h("li", {}, h("b", {}, numbers.get(node) ?? "Diagram"), ": ", sentence(plain(problem) || "It can't be read.")))));
}

// Name, tags, id, and what else can be done with it.
function managing(scenario) {
  const { id, summary, created } = scenario;
  const trouble = h("div");
  const share = async () => (await get(`/api/template/getUrl/${encodeURIComponent(id)}`)).longUrl;
  const remove = h("button", { type: "button", class: "danger quiet" }, "Delete scenario");
  remove.addEventListener("click", async () => {
    if (!await confirmed("Delete this scenario?", "Its job, log and drafts are deleted too.", "Delete")) return;
    try {
      await post("/api/scenario/delete", { id });
      say("Deleted");
      location.hash = "#/";
    } catch (error) {
      fill(trouble, problemOf(error));
    }
  });
  const labels = h("details", {}, h("summary", {}, "Name, tags and id"),
    h("dl", { class: "facts" }, Object.entries({ Id: h("code", {}, id), Created: when(created), Path: summary.slice(0, 300) })
      .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    form("Save", async (given) => {
      const wanted = (given.tags ?? "").split(/[\s,]+/).filter(Boolean);
      const former = scenario.tags ?? [];
      const tags = [...wanted.filter((tag) => !former.includes(tag)), ...former.filter((tag) => !wanted.includes(tag)).map((tag) => `-${tag}`)];
      const { revision } = await post("/api/scenario/replace", { id, name: given.name ?? "", tags });
      Object.assign(scenario, { name: (given.name ?? "").trim(), tags: [...new Set(wanted)].sort(), revision });
      scenario.show();
      labels.open = false;
      say("Saved");
    },
    field("name", "Name", { value: scenario.name ?? "", hint: "Up to 200 characters. Lists show it first." }),
    field("tags", "Tags", { value: (scenario.tags ?? []).join(" "), hint: "Words with spaces between them, for example treasury monthly." })));
  return h("section", { class: "card", "aria-labelledby": "managing" },
    h("h2", { id: "managing" }, "Share or delete"),
    h("div", { class: "actions" }, copyButton("Copy share string", share), copyButton("Copy link", `${location.origin}/#/create/?diagramData=${encodeURIComponent(id)}`), remove),
    trouble, labels);
}
