// What saves in the step editor: problems are told first, what somebody else saved meanwhile is not lost, and a job is minded.

import { post } from "./api.js";
import { confirmed } from "./dialog.js";
import { fill, h, problemOf, say } from "./dom.js";
import { writeFlow } from "./editor_state.js";

export const linkOf = (id) => `#/create/?diagramData=${encodeURIComponent(id)}`;

// Its fields are those of the editor.
export class Saving extends /** @type {any} */ (Object) {
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
    const problem = { step: `steps[${number}]`, uid: step.uid, field, problem: path + said, value: step.values[field] };
    this.found = [...this.found, problem];
    this.show();
    this.goTo(problem);
  }

  // Somebody else has saved meanwhile: nobody's version is lost before somebody chooses.
  async conflict() {
    const { revision: theirs } = await post("/api/scenario/show", { id: this.id }, this.signal);
    const choice = (words, act) => h("button", { type: "button", onclick: act }, words);
    const notice = h("section", { class: "conflict", tabindex: "-1", "aria-label": "Two versions" },
      h("p", { class: "notice", role: "alert" }, "Somebody else has changed this scenario since you opened it. Your changes are not saved."),
      h("div", { class: "actions" },
        h("a", { class: "button", href: linkOf(this.id), target: "_blank" }, "Look at theirs"),
        choice("Discard mine and load theirs", () => this.reload()),
        choice("Replace theirs with mine", () => this.replace(theirs)),
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
