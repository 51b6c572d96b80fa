// The views of the step editor: create a scenario, change one in place, or change a copy of one.

import { post } from "./api.js";
import { h } from "./dom.js";
import { BY_LINK, KINDS } from "./editor_forms.js";
import { Editor } from "./editor_page.js";
import { linkOf } from "./editor_saving.js";
import { chains as known } from "./known.js";
import { emptyState, keepDraft, newStep, readFlow } from "./editor_state.js";

export async function newView(kind, signal) {
  const chains = await known();
  const type = BY_LINK[kind];
  const state = { ...emptyState(), steps: type ? [newStep(type)] : [] };
  return new Editor({ title: type ? `New ${KINDS[type].title.toLowerCase()}` : "New scenario", verb: "Create", state, chains, isList: !type, signal }).open();
}

export async function editView(id, signal) {
  const [chains, written] = await Promise.all([known(), flowOf(id, signal)]);
  if (written.reason) return refused("Edit", id, written.reason);
  const state = readFlow(JSON.parse(written.text));
  const editor = new Editor({ title: `Edit ${state.name || "scenario"}`, verb: "Save", state, chains, id, revision: written.revision, signal });
  editor.noteJob();
  return editor.open();
}

export async function duplicateView(id, signal) {
  const [chains, written] = await Promise.all([known(), flowOf(id, signal)]);
  if (written.reason) return refused("Duplicate", id, written.reason);
  const state = readFlow(JSON.parse(written.text));
  const hooks = state.steps.filter(({ type, values }) => type === "webhook" && values.uuid);
  // An event for one scenario must not start two.
  for (const { values } of hooks) delete values.uuid;
  state.name = state.name ? `${state.name.slice(0, 193)} (copy)` : "";
  const editor = new Editor({ title: `Duplicate ${state.name.replace(/ \(copy\)$/, "") || "scenario"}`, verb: "Create the copy", state, chains, signal });
  if (hooks.length) editor.notes.append(h("p", { class: "notice" }, "The webhooks of the copy get addresses of their own."));
  return editor.open();
}

// Opens the editor with a flow that is not stored.
export function openFlow(flow) {
  const place = "#/new/flow";
  keepDraft(place, readFlow(flow), "", "This flow file is not stored yet: it has mistakes.");
  location.hash = place;
}

async function flowOf(id, signal) {
  try {
    return await post("/api/scenario/flow", { id, syntax: "json" }, signal);
  } catch (error) {
    if (error.status === 422) return { reason: error.message };
    throw error;
  }
}

function refused(verb, id, reason) {
  return h("section", { class: "narrow" },
    h("h1", { tabindex: "-1" }, `${verb} ${id}`),
    h("p", { class: "notice" }, "This scenario can't be shown as a list of steps, so it can't be edited here. Use the web editor that drew it."),
    h("p", { class: "problem" }, reason),
    h("p", {}, h("a", { href: linkOf(id) }, "Back to the scenario")));
}
