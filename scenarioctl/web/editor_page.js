// The step editor: the list of steps, the name, the picture beside them, undo, and what saves.

import { get, onGone, post } from "./api.js";
import { confirmed } from "./dialog.js";
import { fill, h, problemOf, say } from "./dom.js";
import { actingFields } from "./editor_acting.js";
import { amountNotes } from "./editor_amounts.js";
import { StepCard, adder, types } from "./editor_cards.js";
import { differenceTable } from "./editor_conflict.js";
import { KINDS } from "./editor_forms.js";
import { History, dropDraft, keepDraft, keptDraft, newStep, writeFlow } from "./editor_state.js";
import { nameChains } from "./format.js";
import { isCompact } from "./storage.js";

// Pause in typing after which the picture is drawn, in milliseconds.
const PAUSE = 350;
// A longer list opens with its cards closed.
const OPEN = 4;
// The smallest scale of the picture at which its text can be read.
const READABLE = 0.6;

export const linkOf = (id) => `#/create/?diagramData=${encodeURIComponent(id)}`;

// The page counts steps from 1, and a flow file from 0.
const counted = (sentence) => sentence.replace(/steps\[(\d+)\]/g, (_, number) => `step ${Number(number) + 1}`);

export class Editor {
  constructor({ title, verb, state, chains, signal, id = "", revision = "", isList = false }) {
    nameChains(chains);
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
    for (const control of card.controls ?? []) if (control.spec.of === key || control.spec.pallet === key) control.refresh?.();
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
    this.wrong = h("p", { class: "hint", role: "status" });
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
    // As wide as there is room, but a long one so that its text can be read.
    this.image = h("img", { alt: "", onload: ({ target }) => { target.width = Math.min(target.naturalWidth, Math.max(READABLE * target.naturalWidth, target.parentElement.clientWidth)); } });
    this.picture = h("figure", { class: "editor-picture", hidden: true, "aria-label": "Picture of the steps" },
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Picture" }, this.image), this.wrong);
    this.form = h("form", { class: "editor-form", novalidate: true, onsubmit: (event) => { event.preventDefault(); this.save(); } },
      this.historyButtons, this.list, this.acting.element, this.nameField,
      h("div", { class: "actions" }, this.saveButton, h("a", { class: "button", href: this.id ? linkOf(this.id) : "#/" }, "Cancel")),
      this.trouble);
    const section = h("section", { class: "editor" },
      h("h1", { tabindex: "-1" }, this.title), this.notes,
      h("div", { class: "editor-columns" }, this.form, this.picture));
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
    this.undoButton.disabled = !this.history.before.length;
    this.redoButton.disabled = !this.history.behind.length;
    this.saveButton.disabled = this.isSaving || !this.state.steps.length;
    if (this.isList() && this.list.previousElementSibling === this.historyButtons) this.form.insertBefore(this.nameField, this.list);
  }

  // ---- The daemon's picture and problems.

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.redraw(), PAUSE);
  }

  // Returns the problems of the steps as they are, null if a newer request has taken the place of this one.
  async redraw({ saving = false } = {}) {
    clearTimeout(this.timer);
    this.asking?.abort();
    const asking = new AbortController();
    this.asking = asking;
    const flow = writeFlow(this.state);
    const steps = this.state.steps.map(({ uid, values }) => ({ uid, values: { ...values } }));
    if (!flow.steps.length) {
      this.picture.hidden = true;
      this.found = [];
      this.show();
      return [];
    }
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    try {
      const answer = await post("/api/flow/preview", { flow, format: "svg", theme: dark ? "dark" : "light", compact: isCompact() }, AbortSignal.any([this.signal, asking.signal]));
      // An SVG in an image element runs no scripts and loads nothing.
      this.image.src = `data:image/svg+xml;base64,${answer.img}`;
      this.image.alt = `Diagram: ${answer.info || "unfinished"}`;
      // An empty form has nothing to draw but what is missing.
      this.picture.hidden = !this.tried && !saving && !this.isList() && !this.history.before.length;
      this.found = answer.problems.map((each) => {
        const asked = steps[each.step.match(/\d+/)?.[0]];
        return { ...each, problem: counted(each.problem), uid: asked?.uid ?? "", value: asked?.values[each.field] };
      });
      fill(this.trouble);
      this.tried ||= saving;
      this.show();
      return this.found;
    } catch (error) {
      if (asking.signal.aborted || this.signal.aborted) return null;
      fill(this.trouble, problemOf(error, () => this.later()));
      throw error;
    }
  }

  // Shows each problem at its field, except of fields that nobody has come to yet.
  show() {
    const { activeElement } = document;
    const shown = this.found.filter((each) => {
      const { uid, field, waiting } = each;
      const step = this.state.steps.find((other) => other.uid === uid);
      if (!step) return true;
      const control = this.cards.get(uid)?.controls?.find(({ key }) => key === field);
      const value = step.values[field];
      // The next answer is about what has been typed since.
      if (control && value !== each.value) return false;
      if (waiting || this.tried) return true;
      const isNew = value === undefined || value === "";
      if (isNew && control && !this.touched.has(`${uid} ${field}`)) return false;
      return !control || control.hasProblem() || !control.element.contains(activeElement);
    });
    for (const [uid, card] of this.cards) card.problems(shown.filter((each) => each.uid === uid));
    const ofName = this.found.find(({ step, field }) => !step && field === "name");
    const place = this.nameField.querySelector(".problem");
    place.hidden = !ofName;
    place.textContent = ofName?.problem ?? "";
    this.nameBox.setAttribute("aria-invalid", String(Boolean(ofName)));
    const others = this.found.filter(({ step, field }) => !step && field !== "name");
    const count = shown.filter(({ waiting }) => !waiting).length;
    this.wrong.textContent = [count === 0 ? "" : count === 1 ? "1 problem" : `${count} problems`, ...others.map(({ problem }) => problem)].filter((words) => words).join(". ");
  }

  // ---- Saving.

  async save() {
    if (this.isSaving || !this.state.steps.length) return;
    this.isSaving = true;
    this.arrange();
    this.form.setAttribute("aria-busy", "true");
    fill(this.trouble);
    try {
      if (await this.isSound()) await this.store();
    } catch (error) {
      if (!this.signal.aborted) await this.tell(error);
    } finally {
      this.isSaving = false;
      this.form.removeAttribute("aria-busy");
      this.arrange();
    }
  }

  // Whether there is nothing to fix; what is refused unless it is meant, is asked.
  async isSound() {
    let found = null;
    // A change meanwhile has taken the place of the request.
    while (found === null && !this.signal.aborted) found = await this.redraw({ saving: true });
    if (found === null) return false;
    const wrong = found.filter(({ waiting }) => !waiting);
    const asked = wrong.filter(({ confirm: key }) => key);
    if (wrong.length > asked.length) {
      this.goTo(wrong.find(({ confirm: key }) => !key));
      say(wrong.length === 1 ? "1 problem to fix" : `${wrong.length} problems to fix`);
      return false;
    }
    for (const each of asked) {
      const { uid, confirm: key } = each;
      if (!await confirmed(`${this.verb} it anyway?`, `${this.cards.get(uid).words(each)}.`, `${this.verb} anyway`)) return false;
      this.state.steps.find((each) => each.uid === uid).values[key] = true;
    }
    if (asked.length) this.changed();
    return true;
  }

  goTo({ uid, field }) {
    const card = this.cards.get(uid);
    if (!card) {
      this.nameBox.focus();
      return;
    }
    card.open(true);
    card.problems(card.found);
    card.focus(field);
  }

  async store() {
    const flow = writeFlow(this.state);
    const answer = this.id
      ? await post("/api/scenario/replace", { id: this.id, content: { name: "", tags: [], as: "", ...flow }, revision: this.revision }, this.signal)
      : await post("/api/create/flow", { flow }, this.signal);
    this.forget();
    if (answer.warnings.length) say(`Warning: ${answer.warnings.join("; ")}`);
    else if (this.id) say(answer.changed ? "Saved" : "Nothing changed");
    location.hash = linkOf(this.id || answer.result);
  }

  async tell(error) {
    if (this.id && error.status === 409) {
      await this.conflict();
      return;
    }
    const place = error.body?.field ?? "";
    const [, number, path] = place.match(/^steps\[(\d+)\]\.?(.*)$/) ?? [];
    const step = this.state.steps[number];
    if (!step) {
      fill(this.trouble, problemOf(error));
      return;
    }
    // Its sentence begins with the place.
    const said = error.message.slice(place.length).replace(/^: /, "");
    const field = path.match(/^\w*/)[0];
    const problem = { step: `steps[${number}]`, uid: step.uid, field, problem: counted(path + said), value: step.values[field] };
    this.found = [...this.found, problem];
    this.show();
    this.goTo(problem);
  }

  // Somebody else has saved meanwhile: shows what differs before anybody chooses.
  async conflict() {
    let theirs = null;
    let table;
    try {
      const written = await post("/api/scenario/flow", { id: this.id, syntax: "json" }, this.signal);
      table = differenceTable(writeFlow(this.state), JSON.parse(written.text), this.chains) ?? h("p", {}, "Both versions say the same.");
      theirs = written.revision;
    } catch (error) {
      // What no flow file can hold is not compared.
      if (error.status !== 422) throw error;
      table = problemOf(error);
    }
    const choice = (words, act) => h("button", { type: "button", onclick: act }, words);
    const notice = h("section", { class: "conflict", tabindex: "-1", "aria-label": "Two versions" },
      h("p", { class: "notice", role: "alert" }, "Somebody else has changed this scenario since you opened it. Your changes are not saved."),
      table,
      h("div", { class: "actions" },
        choice("Discard mine and load theirs", () => this.reload()),
        theirs !== null && choice("Replace theirs with mine", () => this.replace(theirs)),
        choice("Save mine as a new scenario", () => this.copy())));
    fill(this.trouble, notice);
    notice.focus();
  }

  // Saves over the version that was shown; a still newer one is a conflict again.
  async replace(theirs) {
    this.revision = theirs;
    await this.save();
  }

  async copy() {
    for (const { type, values } of this.state.steps) if (type === "webhook") delete values.uuid;
    this.id = "";
    await this.save();
  }

  // A job that runs goes on with the version that it started with.
  async noteJob() {
    try {
      const { state } = await post("/job/status", { id: this.id }, this.signal);
      if (state === "running") this.notes.append(h("p", { class: "notice" }, "The job of this scenario is running. It uses your changes from its next run."));
    } catch {
      // No job, or no worker here.
    }
  }
}
