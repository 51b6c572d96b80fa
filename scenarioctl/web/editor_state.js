// The steps in the editor: read from a flow, changed, undone, and written as a flow again.
//
// A state is plain data, so that undo and sessionStorage can keep it: `{name, tags, acting, steps}`.  A step has a `uid` of its
// own, its `type`, its `id` (how placeholders name it), `after` (null: right after the step above; else a list of uids),
// and the `values` of its keys as a form holds them: texts, and true for a checked box.

import { KINDS } from "./editor_forms.js";
import { keepIn, readKept } from "./storage.js";

let last = 0;

export function newUid() {
  last += 1;
  return `${Date.now().toString(36)}-${last}`;
}

export function newStep(type) {
  return { uid: newUid(), type, id: "", after: null, values: structuredClone(KINDS[type].start ?? {}) };
}

export function emptyState() {
  return { name: "", tags: [], steps: [] };
}

// Returns the state of a flow, as `/api/scenario/flow` writes it in JSON.
export function readFlow(flow) {
  const types = Object.keys(KINDS);
  const steps = flow.steps.map(({ type, id = "", after = null, ...values }) => {
    const kind = types.find((each) => each.toLowerCase() === String(type).toLowerCase());
    if (!kind) throw new Error(`This page has no form for a step of the type ${type}.`);
    return { uid: newUid(), type: kind, id, after, values: KINDS[kind].read(values) };
  });
  const uids = new Map(steps.filter(({ id }) => id).map(({ id, uid }) => [id, uid]));
  for (const step of steps) {
    if (step.after !== null) step.after = [step.after].flat().map((id) => uids.get(id)).filter((uid) => uid);
  }
  return { name: flow.name ?? "", tags: flow.tags ?? [], ...(flow.as && { acting: flow.as }), steps };
}

// Returns the flow of a state.  Empty fields are left out, and steps that others name have an id.
export function writeFlow(state) {
  const named = new Set(state.steps.flatMap(({ after }) => after ?? []));
  const taken = new Set(state.steps.map(({ id }) => id));
  const ids = new Map();
  state.steps.forEach((step, number) => {
    let id = step.id.trim();
    if (!id && named.has(step.uid)) {
      id = `step${number + 1}`;
      while (taken.has(id)) id += "_";
      taken.add(id);
    }
    ids.set(step.uid, id);
  });
  const flow = {};
  if (state.name.trim()) flow.name = state.name.trim();
  if (state.tags.length) flow.tags = state.tags;
  if (state.acting) flow.as = state.acting;
  flow.steps = state.steps.map((step) => {
    const entry = { type: step.type };
    if (ids.get(step.uid)) entry.id = ids.get(step.uid);
    if (step.after !== null) entry.after = step.after.map((uid) => ids.get(uid)).filter((id) => id);
    return Object.assign(entry, KINDS[step.type].write(step.values));
  });
  return flow;
}

// Returns a name for the data of `step` that no other step has, like `webhook2`.
export function freeId(state, step) {
  const taken = new Set(state.steps.map(({ id }) => id));
  const stem = KINDS[step.type].data.stem;
  for (let number = 1; ; number += 1) if (!taken.has(`${stem}${number}`)) return `${stem}${number}`;
}

// How long changes of one field are one change to undo.
const TOGETHER = 1500;
const KEPT = 200;

// The states before and after the one that is shown.
export class History {
  constructor(state) {
    this.now = JSON.stringify(state);
    this.before = [];
    this.behind = [];
    this.place = "";
    this.time = 0;
  }

  // Keeps `state` as the newest one; changes at one `place` that follow each other soon are undone together, and one that
  // `follows` from the last change with it.
  add(state, place = "", follows = false) {
    const text = JSON.stringify(state);
    if (text === this.now) return;
    const goesOn = place !== "" && place === this.place && Date.now() - this.time < TOGETHER;
    if (!goesOn && !follows) {
      this.before.push(this.now);
      if (this.before.length > KEPT) this.before.shift();
    }
    this.behind = [];
    this.now = text;
    this.place = place;
    this.time = Date.now();
  }

  // Lets the next change be undone by itself.
  close() {
    this.place = "";
  }

  // Returns the state before, null if there is none.
  undo() {
    return this.step(this.before, this.behind);
  }

  redo() {
    return this.step(this.behind, this.before);
  }

  step(from, to) {
    if (!from.length) return null;
    to.push(this.now);
    this.now = from.pop();
    this.place = "";
    return JSON.parse(this.now);
  }
}

const draftOf = (place) => `scenarioctl.draft:${place}`;

// Keeps changes that are not saved, over a reload of this tab.
export function keepDraft(place, state, revision, note = "") {
  keepIn("sessionStorage", draftOf(place), { state, revision, note });
}

export function dropDraft(place) {
  keepIn("sessionStorage", draftOf(place), null);
}

// Returns what was kept, null if there is nothing that this version can show.
export function keptDraft(place) {
  const kept = readKept("sessionStorage", draftOf(place));
  return kept?.state?.steps?.every?.((step) => KINDS[step?.type]) ? kept : null;
}
