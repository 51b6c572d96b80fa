// What a run did, step by step.

import { post } from "./api.js";
import { h, inPortions } from "./dom.js";
import { durationWords, grouped, sentence } from "./format.js";
import { isUnmet, plain, stepTitle } from "./words.js";

// Longer outputs are folded.
const SHOWN = 120;
// Drawn in one frame.
const PORTION = 50;
const WORDS = { done: "done", drafted: "drafted", failed: "failed", skipped: "skipped", unmet: "not met" };

const outcomeOf = (step) => (isUnmet(step) ? "unmet" : step.outcome);
const badge = (step) => h("span", { class: `badge ${outcomeOf(step) ?? ""}` }, WORDS[outcomeOf(step)] ?? "not reached");
const nameOf = ({ number, step }) => [number === null ? "" : `${number}. `, h("strong", {}, stepTitle(step) || "A step that is gone")];

// Returns what draws the steps, null if none is known: it draws some in each frame, once they have their place.
export async function stepsOf(id, run, signal) {
  const { steps } = await post("/job/steps", { id, run: run.number }, signal);
  if (!steps.length) return null;
  return () => {
    const list = h("ol", { class: "run-steps" });
    inPortions(steps, PORTION, (some) => list.append(...some.map((step) => h("li", { class: outcomeOf(step) },
      h("p", {}, badge(step), " ", nameOf(step), step.seconds !== null && h("span", { class: "hint" }, ` ${took(step.seconds)}`)),
      step.input && h("p", {}, sentence(plain(step.input))),
      outputOf(step)))), signal);
    return [h("h4", {}, "Steps"), list];
  };
}

const took = (seconds) => (seconds < 10 ? `${seconds.toFixed(seconds < 1 ? 2 : 1)} s` : durationWords(seconds));

function outputOf({ number, step, outcome, output, output_length: length }) {
  // What it drafted stands below, and whether a condition is met, above.
  if (outcome === "drafted" || step === "condition") return null;
  if (!output) return outcome && outcome !== "skipped" && step !== "delay" ? h("p", { class: "hint" }, "No output is stored.") : null;
  if (length <= SHOWN) return h("p", { class: outcome === "failed" ? "problem" : "output" }, plain(output) || output);
  const cut = length > output.length;
  return h("details", {}, h("summary", {}, `Output, ${grouped(length)} characters`),
    cut && h("p", { class: "hint" }, `The first ${grouped(output.length)} are stored.`),
    h("pre", { class: "hex", tabindex: "0", "aria-label": `Output of step ${number ?? step}` }, output));
}
