// The list of steps: a card for each, with a "+" between them, buttons to move and remove, and a handle to drag.

import { fill, h, say } from "./dom.js";
import { controlOf } from "./editor_fields.js";
import { KINDS, OFFERED } from "./editor_forms.js";
import { capital, plain } from "./words.js";

// One card; its form is built when it is opened, so that a hundred steps are there at once.
export class StepCard {
  constructor(step, editor) {
    this.step = step;
    this.editor = editor;
    this.kind = KINDS[step.type];
    this.controls = null;
    this.found = [];
    this.body = h("div", { class: "step-body", id: `step-${step.uid}`, hidden: true });
    this.says = h("span", { class: "step-says" });
    this.badge = h("span", { class: "badge failed", hidden: true });
    this.title = h("button", { type: "button", class: "step-title", "aria-expanded": "false", "aria-controls": this.body.id, onclick: () => this.open(this.body.hidden) });
    this.handle = h("span", { class: "step-handle", "aria-hidden": "true", title: "Drag to move" }, "⠿");
    this.up = this.button("↑", "up", () => editor.move(step, -1));
    this.down = this.button("↓", "down", () => editor.move(step, 1));
    this.gone = this.button("✕", "remove", () => editor.remove(step));
    this.head = h("div", { class: "step-head" }, this.handle, this.title, h("div", { class: "step-buttons" }, this.up, this.down, this.gone));
    this.trouble = h("p", { class: "problem", hidden: true });
    this.element = h("li", { class: "step-card", "data-uid": step.uid }, this.head, this.trouble, this.body);
    drag(this, editor);
  }

  button(sign, name, act) {
    return h("button", { type: "button", class: `step-${name}`, onclick: act }, sign);
  }

  open(shown) {
    if (shown && !this.controls) this.build();
    this.body.hidden = !shown;
    this.title.setAttribute("aria-expanded", String(shown));
    if (shown) this.arrange();
  }

  isOpen() {
    return !this.body.hidden;
  }

  build() {
    const { step, editor, kind } = this;
    this.controls = kind.fields.map((spec) => controlOf(spec, step, editor));
    const more = this.controls.filter(({ spec }) => spec.more);
    this.order = h("div", { class: "step-order" });
    this.id = h("input", { id: `id-${step.uid}`, name: "step_id", autocomplete: "off", spellcheck: "false" });
    this.id.addEventListener("input", () => editor.name(step, this.id.value.trim(), `${step.uid} id`));
    this.named = h("div", { class: "field", "data-key": "id" },
      h("label", { for: this.id.id }, "Id (optional)"), this.id,
      h("p", { class: "hint" }, "How placeholders name this step's data: {{ id.field }}."),
      h("p", { class: "problem", hidden: true }));
    this.more = h("details", { open: more.some(({ key, spec }) => !spec.made && !["", undefined, false].includes(step.values[key])) || step.after !== null },
      h("summary", {}, "More options"),
      more.map(({ element }) => element), kind.data && this.named, this.order);
    this.hasMore = more.some(({ element }) => !element.hidden);
    this.more.addEventListener("toggle", () => this.arrange());
    fill(this.body, this.controls.filter(({ spec }) => !spec.more).map(({ element }) => element), this.more);
    this.update();
    this.problems(this.found);
  }

  // Shows the state again, when another step has changed, or `anew`, after an undo.
  update({ anew = false } = {}) {
    const { step, kind, editor } = this;
    const number = editor.numberOf(step);
    const total = editor.state.steps.length;
    const line = kind.line(step.values);
    const name = `step ${number}, ${kind.title}`;
    fill(this.title, h("span", { class: "step-number" }, `${number}.`), " ", h("strong", {}, kind.title), " ", this.says, this.badge);
    this.says.textContent = [line, this.afterWords()].filter((words) => words).join(" · ");
    this.up.disabled = number === 1;
    this.down.disabled = number === total;
    this.up.setAttribute("aria-label", `Move ${name} up`);
    this.down.setAttribute("aria-label", `Move ${name} down`);
    this.gone.setAttribute("aria-label", `Remove ${name}`);
    if (!this.controls) return;
    for (const control of this.controls) {
      if (anew || !control.hasFocus()) control.show(step.values[control.key] ?? "", anew);
      if (anew) control.refresh?.();
    }
    if (anew || document.activeElement !== this.id) this.id.value = step.id;
    this.arrange();
  }

  // The parts that depend on the other steps.
  arrange() {
    if (!this.controls) return;
    const alone = !this.editor.isList();
    const provides = this.editor.providers(this.step).length > 0;
    for (const button of this.body.querySelectorAll(".insert")) button.hidden = !provides;
    this.named.hidden = alone;
    this.order.hidden = alone;
    this.more.hidden = alone && !this.hasMore;
    if (!alone && this.isOpen() && this.more.open) this.drawOrder();
  }

  afterWords() {
    const { after } = this.step;
    if (after === null) return "";
    const numbers = after.map((uid) => this.editor.state.steps.findIndex((each) => each.uid === uid) + 1).filter((each) => each > 0);
    return numbers.length ? `runs after ${numbers.join(", ")}` : "starts a path of its own";
  }

  drawOrder() {
    const { step, editor } = this;
    const others = editor.state.steps.filter((each) => each !== step);
    const wordsOf = (each) => `${editor.numberOf(each)}. ${KINDS[each.type].title} ${KINDS[each.type].line(each.values)}`;
    const drawn = JSON.stringify([step.after, others.map((each) => [each.uid, wordsOf(each)])]);
    if (drawn === this.drawnOrder) return;
    this.drawnOrder = drawn;
    const focused = this.order.contains(document.activeElement) ? document.activeElement.id : "";
    const choice = h("select", { id: `order-${step.uid}`, name: "order" },
      h("option", { value: "above", selected: step.after === null }, "The step above"),
      h("option", { value: "chosen", selected: step.after !== null }, "Chosen steps, for branches"));
    choice.addEventListener("change", () => {
      const above = editor.state.steps[editor.numberOf(step) - 2];
      editor.order(step, choice.value === "above" ? null : above ? [above.uid] : []);
    });
    const boxes = step.after === null ? null : h("fieldset", { class: "order" },
      h("legend", {}, "Steps before it. Without any, it starts a path of its own."),
      others.map((each) => {
        const box = h("input", { type: "checkbox", id: `after-${step.uid}-${each.uid}`, checked: step.after.includes(each.uid) });
        box.addEventListener("change", () => editor.order(step, others.map(({ uid }) => uid).filter((uid) => (uid === each.uid ? box.checked : step.after.includes(uid)))));
        return h("div", { class: "check" }, box, h("label", { for: box.id }, wordsOf(each)));
      }));
    const wrong = h("p", { class: "problem", id: `after-${step.uid}-problem`, hidden: true });
    fill(this.order, h("div", { class: "field", "data-key": "after" }, h("label", { for: choice.id }, "Runs after"), choice, boxes, wrong));
    this.drawProblems();
    if (focused) document.getElementById(focused)?.focus();
  }

  // Shows the problems of this step; `seen` says which may be shown already.
  problems(found) {
    this.found = found;
    const wrong = found.filter(({ waiting }) => !waiting);
    this.badge.hidden = !wrong.length;
    this.badge.textContent = wrong.length === 1 ? "1 problem" : `${wrong.length} problems`;
    this.drawProblems();
  }

  drawProblems() {
    const controls = this.controls ?? [];
    const shown = new Set(controls.map(({ key }) => key));
    for (const control of controls) {
      const problem = this.found.find(({ field }) => field === control.key);
      control.problem(problem ? this.words(problem) : "", problem?.waiting);
      if (problem && !problem.waiting && control.spec.more && this.editor.tried) this.more.open = true;
    }
    for (const key of ["id", "after"]) {
      const place = this.body.querySelector(`[data-key=${key}] > .problem`);
      const problem = place && this.found.find(({ field }) => field === key);
      if (!place) continue;
      shown.add(key);
      place.hidden = !problem;
      place.textContent = plain(problem?.problem ?? "");
    }
    const rest = this.found.filter(({ field, waiting }) => !waiting && !(this.isOpen() && shown.has(field)));
    this.trouble.hidden = !rest.length || !this.isOpen();
    this.trouble.textContent = rest.map((each) => this.words(each)).join(". ");
  }

  // The daemon names the key of the flow file; the form names its label.
  words({ field, problem }) {
    const spec = this.kind.fields.find(({ key }) => key === field);
    const value = this.step.values[field];
    if (!spec) return capital(plain(problem)) || "This step can't be used.";
    if (value === undefined || !String(value).trim()) return `${spec.label} is missing.`;
    return plain(problem.startsWith(`${field} `) ? spec.label + problem.slice(field.length) : problem) || `${spec.label} can't be used.`;
  }

  // Moves the focus to the field `key`, or to the first one with a problem.
  focus(key = "") {
    this.open(true);
    const control = this.controls.find((each) => (key ? each.key === key : each.hasProblem() && each.box().getAttribute("aria-invalid") === "true")) ?? (key ? null : this.controls[0]);
    if (control?.spec.more || !control) this.more.open = true;
    (control?.box() ?? this.body.querySelector(`[data-key=${key || "id"}] select, [data-key=${key || "id"}] input`) ?? this.title).focus();
  }
}

// By pointer and not by the browser's drag and drop, which no finger can do.
function drag(card, editor) {
  const { handle, element, step } = card;
  let at = null;
  handle.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    handle.setPointerCapture(event.pointerId);
    element.classList.add("dragged");
    at = editor.state.steps.indexOf(step);
  });
  handle.addEventListener("pointermove", (event) => {
    if (at === null) return;
    if (event.clientY < 60) scrollBy(0, -12);
    if (event.clientY > innerHeight - 60) scrollBy(0, 12);
    const cards = editor.state.steps.map(({ uid }) => editor.cards.get(uid).element);
    const before = cards.filter((each) => each !== element).filter((each) => {
      const box = each.getBoundingClientRect();
      return event.clientY > box.top + box.height / 2;
    }).length;
    at = before;
    const others = cards.filter((each) => each !== element);
    for (const [number, each] of others.entries()) {
      each.classList.toggle("drop-before", number === at);
      each.classList.toggle("drop-behind", number === others.length - 1 && at === others.length);
    }
  });
  const end = (event) => {
    if (at === null) return;
    const to = at;
    at = null;
    element.classList.remove("dragged");
    for (const each of editor.list.querySelectorAll(".drop-before, .drop-behind")) each.classList.remove("drop-before", "drop-behind");
    if (event.type === "pointerup") editor.moveTo(step, to);
  };
  handle.addEventListener("pointerup", end);
  handle.addEventListener("pointercancel", end);
}

// The "+" at a place of the list: opens the step types to choose from.
export function adder(editor, place, words) {
  const button = h("button", { type: "button", class: "add", "aria-expanded": "false", "aria-label": words ? null : place === 0 ? "Add a step at the start" : `Add a step after step ${place}` }, words || "+");
  const choice = h("div", { class: "add-types", hidden: true, role: "group", "aria-label": "Step types" });
  const close = () => {
    choice.hidden = true;
    button.setAttribute("aria-expanded", "false");
  };
  button.addEventListener("click", () => {
    if (!choice.hidden) {
      close();
      return;
    }
    fill(choice, types((type) => {
      close();
      editor.add(type, place);
      say(`${KINDS[type].title} added as step ${place + 1}`);
    }));
    choice.hidden = false;
    button.setAttribute("aria-expanded", "true");
    choice.querySelector("button").focus();
  });
  choice.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    close();
    button.focus();
  });
  return h("div", { class: "adder" }, button, choice);
}

export function types(chosen) {
  return OFFERED.map((type) => h("button", { type: "button", title: KINDS[type].about, onclick: () => chosen(type) }, KINDS[type].title));
}
