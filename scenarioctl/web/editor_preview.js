// The picture of the steps as they are, which the daemon draws, and the problems that it finds.

import { post } from "./api.js";
import { fill, h, problemOf, say } from "./dom.js";
import { Saving } from "./editor_saving.js";
import { writeFlow } from "./editor_state.js";
import { pictureOf } from "./picture.js";
import { isCompact } from "./storage.js";
import { plain } from "./words.js";

// Pause in typing after which the picture is drawn, in milliseconds.
const PAUSE = 350;

export class Preview extends Saving {
  openCanvas() {
    const { signal } = this;
    this.wrong = h("p", { class: "hint", role: "status" });
    // One canvas for all steps: a click opens a card, a + adds a step, and an arrow is drawn from a handle.
    this.uids = new Map();
    const stepOf = (node) => this.state.steps.find(({ uid }) => uid === this.uids.get(node));
    this.canvas = pictureOf({
      title: this.state.name, id: this.id, nodes: () => this.state.steps.map(({ values }) => ({ text: Object.values(values).join(" ") })), load: async () => this.drawn,
      edit: { again: () => this.later(), add: (_, target) => this.adding(stepOf(target)), join: (source, target) => this.join(stepOf(source), stepOf(target)) },
    }, signal, (node) => this.reveal(stepOf(node)));
    this.picture = h("div", { class: "editor-picture", hidden: true }, this.canvas.element, this.wrong);
  }

  // Opens the card of a step that was pressed in the picture.
  reveal(step) {
    const card = step && this.cards.get(step.uid);
    if (!card) return;
    card.open(true);
    card.element.scrollIntoView({ block: "center" });
    card.title.focus({ preventScroll: true });
  }

  // Asks for the step that comes before another.
  adding(step) {
    if (!step) return;
    const button = this.cards.get(step.uid).element.previousElementSibling.querySelector(".add");
    button.scrollIntoView({ block: "center" });
    button.click();
  }

  // Lets a step run after another one, too.
  join(source, target) {
    if (!source || !target) return;
    const above = this.state.steps[this.numberOf(target) - 2];
    const before = target.after ?? (above ? [above.uid] : []);
    if (before.includes(source.uid)) return;
    this.order(target, [...before, source.uid]);
    say(`Step ${this.numberOf(target)} runs after step ${this.numberOf(source)}, too`);
  }

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
      // A single step is told beside its form.
      this.picture.hidden = !this.isList();
      this.drawn = answer.img;
      const nodes = answer.diagram.nodes.filter(({ type }) => type !== "chain");
      this.uids = new Map(nodes.length === steps.length ? nodes.map(({ id }, at) => [id, steps[at].uid]) : []);
      this.canvas.redraw();
      this.found = answer.problems.map((each) => {
        const asked = steps[each.step.match(/\d+/)?.[0]];
        return { ...each, uid: asked?.uid ?? "", value: asked?.values[each.field] };
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
    place.textContent = plain(ofName?.problem ?? "");
    this.nameBox.setAttribute("aria-invalid", String(Boolean(ofName)));
    const others = this.found.filter(({ step, field }) => !step && field !== "name");
    const count = shown.filter(({ waiting }) => !waiting).length;
    this.wrong.textContent = [count === 0 ? "" : count === 1 ? "1 problem" : `${count} problems`, ...others.map(({ problem }) => plain(problem))].filter((words) => words).join(". ");
  }
}
