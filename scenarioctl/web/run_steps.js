// What a run did, step by step, and what differs between two runs.

import { post } from "./api.js";
import { fill, h, inPortions, problemOf } from "./dom.js";
import { durationWords, grouped, when } from "./format.js";

// Longer outputs are folded.
const SHOWN = 120;
// Drawn in one frame.
const PORTION = 50;
const WORDS = { done: "done", drafted: "drafted", failed: "failed", skipped: "skipped" };

const read = (id, number, signal) => post("/job/steps", { id, run: number }, signal);
const badge = ({ outcome }) => h("span", { class: `badge ${outcome ?? ""}` }, WORDS[outcome] ?? "not reached");
const nameOf = ({ number, step, node }) => [number === null ? "" : `${number}. `, h("strong", {}, step || node)];

// Returns what draws the steps, null if none is known: it draws some in each frame, once they have their place.
export async function stepsOf(id, run, signal) {
  const { steps } = await read(id, run.number, signal);
  if (!steps.length) return null;
  return () => {
    const list = h("ol", { class: "run-steps" });
    inPortions(steps, PORTION, (some) => list.append(...some.map((step) => h("li", { class: step.outcome },
      h("p", {}, badge(step), " ", nameOf(step), step.seconds !== null && h("span", { class: "hint" }, ` ${took(step.seconds)}`)),
      step.input && h("p", {}, step.input),
      outputOf(step)))), signal);
    return [h("h4", {}, "Steps"), list];
  };
}

const took = (seconds) => (seconds < 10 ? `${seconds.toFixed(seconds < 1 ? 2 : 1)} s` : durationWords(seconds));

function outputOf({ number, step, outcome, output, output_length: length }) {
  if (!output) return outcome && outcome !== "skipped" && step !== "delay" ? h("p", { class: "hint" }, "No output is stored.") : null;
  if (length <= SHOWN) return h("p", { class: outcome === "failed" ? "problem" : "output" }, output);
  const cut = length > output.length;
  return h("details", {}, h("summary", {}, `Output, ${grouped(length)} characters`),
    cut && h("p", { class: "hint" }, `The first ${grouped(output.length)} are stored.`),
    h("pre", { class: "hex", tabindex: "0", "aria-label": `Output of step ${number ?? step}` }, output));
}

// A choice of another run of `list`, and below it what differs.
export function comparison(id, run, list, signal) {
  const others = [...list.querySelectorAll("li[data-run]")].map(({ dataset }) => Number(dataset.run)).filter((each) => each !== run.number);
  const place = h("div", { "aria-live": "polite" });
  const choice = h("select", { "aria-label": `Compare run ${run.number} with`, onchange: async () => {
    if (!choice.value) {
      fill(place);
      return;
    }
    try {
      const answers = await Promise.all([run.number, Number(choice.value)].sort((a, b) => a - b).map((each) => read(id, each, signal)));
      fill(place, differences(...answers));
    } catch (error) {
      if (!signal.aborted) fill(place, problemOf(error));
    }
  } }, h("option", { value: "" }, "Compare with…"), others.map((each) => h("option", { value: each }, `Run ${each}`)));
  return { choice: others.length ? choice : null, place };
}

function differences(before, after) {
  const row = (name, write, differs = false) => h("tr", { class: differs ? "differs" : null }, h("th", { scope: "row" }, name, differs && h("span", { class: "offscreen" }, " (differs)")), [before, after].map((each) => h("td", {}, write(each))));
  const of = ({ steps }, node) => steps.find((step) => step.node === node);
  const nodes = [...new Set([...after.steps, ...before.steps].map(({ node }) => node))];
  const changed = nodes.filter((node) => {
    const [one, other] = [of(before, node), of(after, node)];
    return one?.outcome !== other?.outcome || one?.output !== other?.output || one?.output_length !== other?.output_length;
  });
  return [
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Comparison of two runs" },
      h("table", { class: "comparison" },
        h("caption", { class: "offscreen" }, `Runs ${before.run.number} and ${after.run.number}`),
        h("thead", {}, h("tr", {}, h("td", {}), [before, after].map(({ run }) => h("th", { scope: "col" }, `Run ${run.number}, `, when(run.started))))),
        h("tbody", {},
          row("Result", ({ run }) => (run.failure ? `failed: ${run.failure}` : "succeeded"), before.run.failure !== after.run.failure),
          row("Took", ({ run }) => took(run.seconds)),
          row("Drafts", ({ run }) => run.drafts, before.run.drafts !== after.run.drafts),
          changed.map((node) => row(nameOf(of(after, node) ?? of(before, node)), (each) => cell(of(each, node)), true))))),
    h("p", { class: "hint" }, changed.length === 0 ? "No step differs in its result or in what is stored of its output." : `${changed.length} of ${nodes.length} ${nodes.length === 1 ? "step" : "steps"} ${changed.length === 1 ? "differs" : "differ"}.`)];
}

const cell = (step) => (step ? [badge(step), " ", outputOf(step)] : "not in this run");
