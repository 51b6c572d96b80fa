// What differs between two versions of a scenario, field by field, in the words of the forms.

import { h } from "./dom.js";
import { KINDS } from "./editor_forms.js";
import { readFlow } from "./editor_state.js";

// Characters that a cell shows.
const LONGEST = 160;

// A table of what differs between two flows; null if nothing does.
export function differenceTable(mine, theirs, chains) {
  const rows = differences(mine, theirs, chains);
  return rows.length === 0 ? null : h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "What differs" },
    h("table", {},
      h("thead", {}, h("tr", {}, ["Field", "Yours", "Theirs"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, rows.map(([place, ...both]) => h("tr", {}, h("th", { scope: "row" }, place), shortened(both).map((words) => h("td", {}, words)))))));
}

function differences(mine, theirs, chains) {
  const [one, other] = [mine, theirs].map((flow) => readFlow(structuredClone(flow)));
  // The keys as the daemon reads them.
  const steps = [one, other].map((state, side) => state.steps.map((step, number) => ({ ...step, number, after: namesOf(step.after, [mine, theirs][side].steps[number].after) })));
  const rows = [["Name", one.name, other.name], ["Tags", one.tags.join(", "), other.tags.join(", ")], ["Made as", nameOf(one.acting), nameOf(other.acting)]];
  for (const [left, right] of paired(...steps)) {
    const { number, type } = left ?? right;
    const place = `Step ${number + 1}, ${KINDS[type].title}`;
    if (!left || !right) rows.push([place, ...[left, right].map((step) => (step ? KINDS[type].line(step.values) || "there" : "not there"))]);
    else for (const [label, ...both] of fieldRows(left, right, chains)) rows.push([`${place}: ${label}`, ...both]);
  }
  return rows.filter(([, left, right]) => left !== right).map(([place, ...both]) => [place, ...both.map((words) => words || "nothing")]);
}

// A flow file names it, and a stored scenario keeps who acts for it.
const nameOf = (acting) => acting?.name ?? acting ?? "";
const namesOf = (read, written) => (read === null ? "the step above" : [written].flat().join(", ") || "no other step");

function fieldRows(left, right, chains) {
  const { fields } = KINDS[left.type];
  const keys = [...fields.map(({ key }) => key), ...Object.keys({ ...left.values, ...right.values })];
  const rows = [...new Set(keys)].map((key) => {
    const spec = fields.find((each) => each.key === key) ?? { label: key === "yes" ? "Receiver confirmed" : key };
    return [spec.label, ...[left, right].map(({ values }) => wordsOf(values[key] ?? "", spec, chains))];
  });
  return [...rows, ["Id", left.id, right.id], ["Runs after", left.after, right.after]];
}

function wordsOf(value, { kind, options = [] }, chains) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  const chain = ["chain", "exchange"].includes(kind) && chains.find(({ name }) => name === value);
  return chain ? chain.title : options.find(([each]) => each === value)?.[1] ?? String(value);
}

// Pairs steps of one type in their order, so that as few as possible are changed, removed and added.
function paired(mine, theirs) {
  const texts = [mine, theirs].map((steps) => steps.map(({ values }) => JSON.stringify(values)));
  const least = Array.from({ length: mine.length + 1 }, () => new Array(theirs.length + 1).fill(0));
  // The best way on from two places: what it costs, and by how many steps of each it goes on.
  function way(at, to) {
    const both = mine[at]?.type === theirs[to]?.type ? Number(texts[0][at] !== texts[1][to]) + least[at + 1][to + 1] : Infinity;
    const left = at < mine.length ? 1 + least[at + 1][to] : Infinity;
    const right = to < theirs.length ? 1 + least[at][to + 1] : Infinity;
    return both <= left && both <= right ? [both, 1, 1] : left <= right ? [left, 1, 0] : [right, 0, 1];
  }
  for (let at = mine.length; at >= 0; at -= 1) {
    for (let to = theirs.length; to >= 0; to -= 1) if (at < mine.length || to < theirs.length) [least[at][to]] = way(at, to);
  }
  const pairs = [];
  for (let at = 0, to = 0; at < mine.length || to < theirs.length;) {
    const [, left, right] = way(at, to);
    pairs.push([left ? mine[at] : null, right ? theirs[to] : null]);
    at += left;
    to += right;
  }
  return pairs;
}

// Two texts from a little before the place at which they differ.
function shortened(both) {
  const [one, other] = both;
  let same = 0;
  while (same < one.length && one[same] === other[same]) same += 1;
  const start = Math.max(one.length, other.length) > LONGEST ? Math.max(0, same - 40) : 0;
  return both.map((text) => (start ? "…" : "") + text.slice(start, start + LONGEST) + (text.length > start + LONGEST ? "…" : ""));
}
