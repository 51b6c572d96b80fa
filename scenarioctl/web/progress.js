// The steps of something that goes on, and where it stands.

import { h } from "./dom.js";

const WORDS = { done: "done", now: "current", failed: "failed", unknown: "unknown", later: "" };

// `steps` are [name, state], with a state of WORDS.
export function progressOf(steps, label) {
  return h("ol", { class: "progress", "aria-label": label }, steps.map(([name, state]) => h("li", { class: state, "aria-current": state === "now" ? "step" : null },
    name, WORDS[state] && h("span", { class: "offscreen" }, ` (${WORDS[state]})`))));
}
