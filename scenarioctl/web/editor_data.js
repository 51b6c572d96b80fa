// The picker of placeholders: inserts the data of an earlier step, like `{{ webhook1.address }}`, into a field.

import { get } from "./api.js";
import { dialog } from "./dialog.js";
import { field, fill, h } from "./dom.js";
import { KINDS } from "./editor_forms.js";
import { freeId } from "./editor_state.js";

// A chain is never filled in by a run, and neither is a list of them.
const NEVER = new Set(["chain", "exchange", "choice", "flag"]);

// Returns the button that is shown while an earlier step provides data; `target` returns the box to insert into.
export function insertButton(spec, step, editor, target) {
  if (NEVER.has(spec.kind)) return null;
  const button = h("button", { type: "button", class: "insert", hidden: !editor.providers(step).length, "aria-label": `Insert data of an earlier step into ${spec.label}`, title: "Insert data of an earlier step" }, "{ }");
  button.addEventListener("click", async () => {
    const placeholder = await pick(step, spec, editor);
    const box = placeholder === null ? button : target();
    if (placeholder !== null) {
      const at = box.selectionStart ?? box.value.length;
      const whole = ["text", "long", "line", "list", "table"].includes(spec.kind);
      box.value = whole ? box.value.slice(0, at) + placeholder + box.value.slice(box.selectionEnd ?? at) : placeholder;
      box.dispatchEvent(new Event("input", { bubbles: true }));
    }
    box.focus();
  });
  return button;
}

// Asks for a step and a field of its data; returns the placeholder, null if the dialog was closed.
async function pick(step, spec, editor) {
  const providers = editor.providers(step);
  const steps = h("select", { id: "data-step", name: "data_step" }, providers.map((each, number) => h("option", { value: each.uid, selected: number === providers.length - 1 }, `${editor.numberOf(each)}. ${KINDS[each.type].title} ${KINDS[each.type].line(each.values)}`)));
  const path = field("data_path", "Field", { hint: " " });
  const input = path.querySelector("input");
  const list = h("datalist", { id: "data-list" });
  input.setAttribute("list", list.id);
  const chosen = () => providers.find(({ uid }) => uid === steps.value);
  async function offer() {
    const provider = chosen();
    const { data } = KINDS[provider.type];
    fill(path.querySelector(".hint"), data.hint);
    fill(list, data.fields.filter(([value]) => value).map(([value, words]) => h("option", { value }, words)));
    if (provider.type !== "webhook" || !provider.values.uuid) return;
    // The fields that its newest event has.
    try {
      const { events } = await get(`/api/webhooks/${encodeURIComponent(provider.values.uuid)}`);
      const content = events.at(-1)?.content;
      if (chosen() === provider && content && typeof content === "object") fill(list, Object.keys(content).map((value) => h("option", { value })));
    } catch {
      // A webhook that is not stored yet has no events.
    }
  }
  steps.addEventListener("change", offer);
  input.autofocus = true;
  offer();
  const contents = [h("div", { class: "field" }, h("label", { for: "data-step" }, "Step"), steps), path, list];
  if (!await dialog("Insert data of an earlier step", contents, { submit: "Insert" })) return null;
  const provider = chosen();
  // Undone with the change of the field.
  if (!provider.id) editor.name(provider, freeId(editor.state, provider), `${step.uid} ${spec.key}`);
  const rest = input.value.trim().replace(/^\.+/, "");
  return `{{ ${rest ? `${provider.id}.${rest}` : provider.id} }}`;
}
