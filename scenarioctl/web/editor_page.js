// The step editor: the list of steps, the name, the picture beside them, undo, and what saves.

import { get, onGone } from "./api.js";
import { confirmed } from "./dialog.js";
import { fill, h, say } from "./dom.js";
import { actingFields } from "./editor_acting.js";
import { amountNotes } from "./editor_amounts.js";
import { StepCard, adder, types } from "./editor_cards.js";
import { KINDS } from "./editor_forms.js";
import { Preview } from "./editor_preview.js";
import { linkOf } from "./editor_saving.js";
import { History, dropDraft, keepDraft, keptDraft, newStep, writeFlow } from "./editor_state.js";

// A longer list opens with its cards closed.
const OPEN = 4;

// The editor: its cards, its picture, and what can be undone.
export class Editor extends Preview {
  constructor({ title, verb, state, chains, signal, id = "", revision = "", isList = false }) {
    super();
    Object.assign(this, { title, verb, state, chains, signal, id, revision });
    this.wasList = isList || state.steps.length !== 1;
    this.place = location.hash;
    this.cards = new Map();
    this.found = [];
    this.tried = false;
    this.touched = new Set();
    this.asked = new Map();
    this.notes = h("div", { class: "editor-notes" });
    this.opened = JSON.stringify(writeFlow(state));
    this.restore();
    this.history = new History(this.state);
  }

  // ---- What the cards ask of the editor.

  isList() {
    this.wasList ||= this.state.steps.length !== 1;
    return this.wasList;
  }

  numberOf(step) {
    return this.state.steps.indexOf(step) + 1;
  }

  providers(step) {
    return this.state.steps.slice(0, Math.max(0, this.numberOf(step) - 1)).filter(({ type }) => KINDS[type].data);
  }

  chainOf(step, key) {
    return step.values[key] || "hydraDx";
  }

  // Each chain is asked once while the editor is open.
  once(path, fields, otherwise) {
    const key = path + JSON.stringify(fields);
    if (!this.asked.has(key)) {
      this.asked.set(key, get(path, fields, this.signal).catch(() => {
        this.asked.delete(key);
        return otherwise;
      }));
    }
    return this.asked.get(key);
  }

  async assets(chain) {
    return (await this.once("/api/assets", { chain }, { assets: [] })).assets;
  }

  pallets(chain) {
    return this.once(`/api/chains/${encodeURIComponent(chain)}/pallets`, {}, { pallets: [], apis: [] });
  }

  // What is `typed` in one go is undone at once; what `follows` from the last change is undone with it.
  change(step, key, value, { typed = false, follows = false } = {}) {
    step.values[key] = value;
    // Another receiver has to be confirmed again.
    if (key === "destination_address") delete step.values.yes;
    this.touched.add(`${step.uid} ${key}`);
    const card = this.cards.get(step.uid);
    card.update();
    for (const control of card.controls ?? []) if (control.spec.of === key || control.spec.pallet === key || (control.spec.reach && ["source_chain", "assetid"].includes(key))) control.refresh?.();
    this.changed(typed ? `${step.uid} ${key}` : "", follows);
    this.noteAmounts(step);
  }

  // Sets values that say the same as before in another way.
  settle(step, values) {
    const wasDirty = this.isDirty;
    Object.assign(step.values, values);
    if (!wasDirty) this.opened = JSON.stringify(writeFlow(this.state));
    this.history.now = JSON.stringify(this.state);
    this.cards.get(step.uid)?.update();
  }

  name(step, id, place = "") {
    step.id = id;
    this.cards.get(step.uid)?.update();
    this.changed(place);
  }

  order(step, after) {
    step.after = after;
    this.cards.get(step.uid).update();
    this.changed();
  }

  add(type, place) {
    const step = newStep(type);
    this.state.steps.splice(place, 0, step);
    this.draw();
    this.cards.get(step.uid).focus();
    this.changed();
  }

  remove(step) {
    const place = this.state.steps.indexOf(step);
    this.state.steps.splice(place, 1);
    for (const each of this.state.steps) if (each.after !== null) each.after = each.after.filter((uid) => uid !== step.uid);
    this.draw();
    this.focusAt(place);
    this.changed();
    say(`${KINDS[step.type].title} removed. Undo brings it back.`);
  }

  move(step, by) {
    const card = this.cards.get(step.uid);
    this.moveTo(step, this.state.steps.indexOf(step) + by);
    (by < 0 ? (card.up.disabled ? card.down : card.up) : card.down.disabled ? card.up : card.down).focus();
  }

  moveTo(step, place) {
    const from = this.state.steps.indexOf(step);
    if (place === from || place < 0 || place >= this.state.steps.length) return;
    this.state.steps.splice(from, 1);
    this.state.steps.splice(place, 0, step);
    this.draw();
    this.changed();
    say(`${KINDS[step.type].title} is step ${place + 1} of ${this.state.steps.length}`);
  }

  noteAmounts(step) {
    this.amounts.look(step, this.cards.get(step.uid));
  }

  // ---- Changes: kept, undone, drawn.

  get isDirty() {
    return JSON.stringify(writeFlow(this.state)) !== this.opened;
  }

  changed(place = "", follows = false) {
    this.history.add(this.state, place, follows);
    this.keep();
    this.arrange();
    this.later();
  }

  keep() {
    if (this.isDirty) keepDraft(this.place, this.state, this.revision);
    else dropDraft(this.place);
  }

  restore() {
    const kept = keptDraft(this.place);
    if (!kept) return;
    this.state = kept.state;
    this.revision = kept.revision;
    this.wasList ||= this.state.steps.length !== 1;
    this.notes.append(h("p", { class: "notice restored", role: "status" }, kept.note || "Your unsaved changes are back.", " ",
      h("button", { type: "button", class: "quiet", onclick: () => this.reload() }, "Discard them")));
  }

  // Opens the view anew, without what was changed.
  reload() {
    this.forget();
    dispatchEvent(new HashChangeEvent("hashchange"));
  }

  forget() {
    this.isLeft = true;
    dropDraft(this.place);
  }

  travel(state, done) {
    say(state ? done : `Nothing to ${done === "Undone" ? "undo" : "redo"}`);
    if (!state) return;
    // The cards that stay keep their steps, so that the focus stays where it is.
    const known = new Map(this.state.steps.map((step) => [step.uid, step]));
    const place = this.state.steps.findIndex(({ uid }) => this.cards.get(uid).element.contains(document.activeElement));
    state.steps = state.steps.map((step) => (known.has(step.uid) ? Object.assign(known.get(step.uid), step) : step));
    this.state = state;
    this.draw();
    for (const card of this.cards.values()) card.update({ anew: true });
    this.keep();
    this.arrange();
    this.later();
    // The card with the focus is gone.
    if (place >= 0 && !this.list.contains(document.activeElement)) this.focusAt(place);
  }

  undo() {
    this.travel(this.history.undo(), "Undone");
  }

  redo() {
    this.travel(this.history.redo(), "Redone");
  }

  // Focuses the step at a place that another one had; without any steps, the choice of the first.
  focusAt(place) {
    const next = this.state.steps[Math.min(place, this.state.steps.length - 1)];
    (next ? this.cards.get(next.uid).title : this.list.querySelector("button")).focus();
  }

  // ---- The view.

  open() {
    const { signal } = this;
    this.amounts = amountNotes(this);
    this.list = h("ol", { class: "step-list" });
    this.trouble = h("div");
    this.nameBox = h("input", { id: "flow-name", name: "flow_name", maxlength: 200, autocomplete: "off", "aria-describedby": "flow-name-hint flow-name-problem" });
    this.nameBox.addEventListener("input", () => {
      this.state.name = this.nameBox.value;
      this.changed("name");
    });
    this.nameField = h("div", { class: "field" }, h("label", { for: "flow-name" }, "Name (optional)"), this.nameBox,
      h("p", { id: "flow-name-hint", class: "hint" }, "For lists and searches."), h("p", { id: "flow-name-problem", class: "problem", hidden: true }));
    this.undoButton = h("button", { type: "button", class: "quiet", onclick: () => this.undo() }, "Undo");
    this.redoButton = h("button", { type: "button", class: "quiet", onclick: () => this.redo() }, "Redo");
    this.acting = actingFields(this);
    this.historyButtons = h("div", { class: "actions" }, this.undoButton, this.redoButton);
    this.saveButton = h("button", { type: "submit", class: "primary" }, this.verb);
    this.openCanvas();
    this.form = h("form", { class: "editor-form", novalidate: true, onsubmit: (event) => { event.preventDefault(); this.save(); } },
      this.historyButtons, this.list, this.acting.element, this.nameField,
      h("div", { class: "actions" }, this.saveButton, h("a", { class: "button", href: this.id ? linkOf(this.id) : "#/" }, "Cancel")),
      this.trouble);
    const section = h("section", { class: "editor" },
      h("h1", { tabindex: "-1" }, this.title), this.notes,
      h("div", { class: "editor-columns" }, this.form, h("div", { class: "beside" }, this.amounts.live, this.picture)));
    // A problem is said once its field is left, not at the first letter of it.
    this.list.addEventListener("focusout", () => {
      this.history.close();
      setTimeout(() => this.show(), 0);
    });
    // Wherever the focus is: a press of a button that is gone leaves it nowhere.
    document.addEventListener("keydown", (event) => this.key(event), { signal });
    this.draw();
    this.arrange();
    this.redraw();
    addEventListener("beforeunload", (event) => { if (this.isDirty && !this.isLeft) event.preventDefault(); }, { signal });
    document.addEventListener("click", (event) => this.leave(event), { capture: true, signal });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.later(), { signal });
    onGone((gone) => { if (!gone) this.later(); }, signal);
    return section;
  }

  key(event) {
    // In one form, Enter sends it; in a list of them, that would be a surprise.
    if (event.key === "Enter" && this.isList() && event.target.matches(".editor-form input")) event.preventDefault();
    if (!(event.ctrlKey || event.metaKey) || event.altKey || document.querySelector("dialog[open]")) return;
    // On a keyboard with other letters, the key at the place of a Latin one.
    const key = /^[a-z]$/i.test(event.key) ? event.key.toLowerCase() : event.code.slice(-1).toLowerCase();
    const back = key === "z" && !event.shiftKey;
    if (!back && key !== "y" && !(key === "z" && event.shiftKey)) return;
    event.preventDefault();
    if (back) this.undo();
    else this.redo();
  }

  // Asks before a link leads away from changes that are not saved.
  async leave(event) {
    const link = event.target.closest?.("a[href]");
    if (!link || !this.isDirty || this.isLeft || link.target || event.ctrlKey || event.metaKey || event.shiftKey || link.classList.contains("skip")) return;
    event.preventDefault();
    event.stopPropagation();
    if (!await confirmed("Leave without saving?", "Your changes will be lost.", "Leave", "Stay")) return;
    this.forget();
    link.click();
  }

  // Draws the list; cards that are there are moved.
  draw() {
    const { activeElement } = document;
    const open = new Set([...this.cards.values()].filter((card) => card.isOpen()).map(({ step }) => step.uid));
    const first = !this.cards.size && this.state.steps.length <= OPEN;
    this.cards = new Map(this.state.steps.map((step) => [step.uid, this.cards.get(step.uid) ?? new StepCard(step, this)]));
    const isList = this.isList();
    const rows = [];
    for (const [number, step] of this.state.steps.entries()) {
      if (isList) rows.push(h("li", { class: "between" }, adder(this, number, "")));
      rows.push(this.cards.get(step.uid).element);
    }
    const end = this.state.steps.length ? adder(this, this.state.steps.length, "Add a step") : h("div", { class: "add-types", role: "group", "aria-label": "Step types" }, h("p", {}, "Which step comes first?"), types((type) => this.add(type, 0)));
    rows.push(h("li", { class: "between end" }, end));
    fill(this.list, rows);
    if (this.list.contains(activeElement)) activeElement.focus({ preventScroll: true });
    this.list.classList.toggle("single", !isList);
    this.nameBox.value = this.state.name;
    this.acting.update();
    for (const card of this.cards.values()) {
      card.update();
      if (first || !isList || open.has(card.step.uid)) card.open(true);
    }
    this.show();
    for (const card of this.cards.values()) if (card.isOpen()) this.noteAmounts(card.step);
  }

  arrange() {
    this.historyButtons.hidden = !this.isList();
    this.amounts.live.hidden = this.isList() || !["xTransfer", "swap"].includes(this.state.steps[0]?.type);
    this.undoButton.disabled = !this.history.before.length;
    this.redoButton.disabled = !this.history.behind.length;
    this.saveButton.disabled = this.isSaving || !this.state.steps.length;
    if (this.isList() && this.list.previousElementSibling === this.historyButtons) this.form.insertBefore(this.nameField, this.list);
  }
}
