// A chain in the strip of the home: its best block with its age, and on demand which endpoint answers.

import { h, raw } from "./dom.js";
import { durationWords, grouped, timeWords } from "./format.js";

// Blocks are seconds old, so that minutes are too coarse.
export function ageWords(iso) {
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(iso)) / 1000));
  return seconds < 60 ? `${seconds} s ago` : timeWords(iso);
}

// Green says that the chain goes on, not only that a node answers.
function toneOf({ state, head }) {
  return state === "connected" ? (head === "fresh" ? "right" : "doubt") : "";
}

export function chainPart(chain) {
  const { name, title, state, reason, endpoint, block_seconds: seconds } = chain;
  const more = [
    endpoint && h("p", {}, "Answers: ", h("code", {}, endpoint)),
    reason && h("p", {}, reason),
    state === "connected" && chain.head === "unknown" && h("p", {}, "Its best block doesn't tell a time, or this machine's clock is wrong."),
    chain.head === "late" && h("p", {}, `A new block is expected every ${durationWords(seconds)}.`)].filter(Boolean);
  const line = [h("b", {}, title), " ", wordsOf(chain)];
  return h("li", { class: toneOf(chain) }, more.length ? h("details", { "data-key": `chain ${name}` }, h("summary", { "data-key": `about ${name}` }, line), more) : line);
}

// The chains that can't be reached, in one line, and behind it why.
export function unreachable(chains) {
  return chains.length > 0 && h("li", { class: "doubt" }, h("details", { "data-key": "unreachable" },
    h("summary", { "data-key": "about unreachable" }, h("b", {}, chains.length === 1 ? chains[0].title : `${chains.length} chains`), " can't be reached"),
    chains.map(({ title, reason }) => h("p", {}, h("b", {}, title), raw(reason, "")))));
}

function wordsOf({ state, head, block, block_time: time }) {
  if (state !== "connected") return state === "offline" ? "offline" : "being asked…";
  const age = time && h("span", { "data-since": time, title: `${time.slice(0, 10)} ${time.slice(11, 19)} UTC` }, ageWords(time));
  return head === "late" ? ["no new block since ", grouped(block), ", ", age] : [`block ${grouped(block)}`, age && [", ", age]];
}
