// The fields of a step's form.  Each has one control: `show(value)` sets it, `problem(sentence)` says what is wrong
// with it, and `refresh()` is called when a field that it depends on has changed.

import { fill, h, say } from "./dom.js";
import { maximumOf } from "./editor_amounts.js";
import { insertButton } from "./editor_data.js";
import { known, knownName } from "./known.js";

let count = 0;
// The choice behind which an asset is typed.
const OTHER = "\u2063other";

export function controlOf(spec, step, editor) {
  count += 1;
  const control = MAKERS[spec.kind] ? MAKERS[spec.kind](spec, step, editor, `step-field-${count}`) : textControl(spec, step, editor, `step-field-${count}`);
  control.show(step.values[spec.key] ?? "");
  control.refresh?.();
  return control;
}

// Returns what all controls have: the label, the hint, a note of the daemon, and the problem, read by screen readers.
function frame(spec, id, boxes, { inline = false } = {}) {
  const hint = spec.hint ? h("p", { id: `${id}-hint`, class: "hint" }, spec.hint) : null;
  const note = h("p", { id: `${id}-note`, class: "hint", hidden: true });
  const wrong = h("p", { id: `${id}-problem`, class: "problem", hidden: true });
  const label = h("label", { for: id }, spec.label, !spec.required && !FIXED.has(spec.kind) ? " (optional)" : "");
  const row = inline ? h("div", { class: "check" }, boxes, label) : h("div", { class: "typed" }, boxes);
  const element = h("div", { class: "field", "data-key": spec.key }, inline ? row : [label, row], hint, note, wrong);
  const inputs = boxes.flat().filter((box) => box.matches("input, select, textarea"));
  function describe() {
    const described = [hint, note, wrong].filter((each) => each && !each.hidden).map((each) => each.id).join(" ");
    for (const input of inputs) {
      if (described) input.setAttribute("aria-describedby", described);
      else input.removeAttribute("aria-describedby");
    }
  }
  describe();
  return {
    key: spec.key,
    spec,
    element,
    box: () => inputs.find((input) => !input.hidden) ?? inputs[0],
    hasFocus: () => element.contains(document.activeElement),
    // `waiting`: nothing is wrong, a run fills it in.
    problem(sentence, waiting = false) {
      wrong.hidden = !sentence;
      wrong.className = waiting ? "hint" : "problem";
      if (wrong.textContent !== sentence) wrong.textContent = sentence;
      for (const input of inputs) input.setAttribute("aria-invalid", String(Boolean(sentence) && !waiting));
      describe();
    },
    hasProblem: () => !wrong.hidden,
    note(...words) {
      fill(note, ...words);
      note.hidden = !note.textContent;
      describe();
    },
  };
}

// A choice always has a value, and a box may stay empty.
const FIXED = new Set(["chain", "exchange", "choice", "flag"]);

function textControl(spec, step, editor, id) {
  const long = ["text", "long", "list", "table"].includes(spec.kind);
  const list = ["pallet", "item", "address"].includes(spec.kind) ? h("datalist", { id: `${id}-list` }) : null;
  const shared = { id, name: spec.key, autocomplete: "off", spellcheck: "false", autocapitalize: "off", inputmode: spec.inputmode, "aria-required": spec.required ? "true" : null };
  const input = long
    ? h("textarea", { ...shared, rows: spec.kind === "text" ? 3 : 2 })
    : h("input", { ...shared, type: "text", list: list && list.id });
  input.addEventListener("input", () => editor.change(step, spec.key, input.value, { typed: true }));
  const most = spec.maximum && h("button", { type: "button", "aria-label": "Max: all that can be sent", onclick: () => setMaximum() }, "Max");
  const control = frame(spec, id, [input, list, most, insertButton(spec, step, editor, () => input)].filter((each) => each));
  async function setMaximum() {
    most.disabled = true;
    try {
      control.show(await maximumOf(step, editor));
      editor.change(step, spec.key, input.value);
    } catch (error) {
      if (!editor.signal.aborted) say(error.message);
    } finally {
      most.disabled = false;
    }
  }
  control.show = (value) => { if (input.value !== String(value)) input.value = String(value); };
  if (spec.kind === "address") nameReceiver(control, input, list);
  else if (list) control.refresh = () => suggest(spec, step, editor, list);
  return control;
}

// Offers the accounts of the address book, and says the name of the one that is typed.
function nameReceiver(control, input, list) {
  async function tell() {
    const typed = input.value;
    const name = await knownName(typed.trim());
    if (input.value === typed) control.note(name && ["In the address book: ", h("b", {}, name)]);
  }
  const show = control.show;
  control.show = (value) => {
    show(value);
    tell();
  };
  input.addEventListener("input", tell);
  known().then((entries) => fill(list, entries.map(({ name, address }) => h("option", { value: address }, name)))).catch(() => {});
}

// Fills in the names of the runtime: pallets, or the items of the pallet that is typed.
async function suggest(spec, step, editor, list) {
  const { pallets, apis } = await editor.pallets(step.values[spec.of]);
  const owners = spec.reads ? [...pallets, ...apis] : pallets.filter(({ calls }) => calls.length);
  const typed = String(step.values[spec.pallet] ?? "").toLowerCase();
  const owner = spec.pallet && owners.find(({ name }) => name.toLowerCase() === typed);
  const items = owner ? (spec.reads ? [...owner.storage ?? [], ...owner.constants ?? [], ...owner.methods ?? []] : owner.calls) : [];
  fill(list, (spec.pallet ? items : owners.map(({ name }) => name)).map((name) => h("option", { value: name })));
}

// Chooses `value`, which is added if it is none of the options: the daemon says what is wrong with it.
function choose(select, value) {
  if (select.value === value) return;
  if (![...select.options].some((option) => option.value === value)) select.append(h("option", { value }, value));
  select.value = value;
}

function choiceControl(spec, step, editor, id) {
  const select = h("select", { id, name: spec.key }, spec.options.map(([value, words]) => h("option", { value }, words)));
  select.addEventListener("change", () => editor.change(step, spec.key, select.value));
  const control = frame(spec, id, [select]);
  // The first option is what a flow without the key means.
  control.show = (value) => choose(select, String(value) || spec.options[0][0]);
  return control;
}

function chainControl(spec, step, editor, id) {
  const known = editor.chains.filter(({ role }) => (spec.kind === "exchange" ? role === "dex" : role !== "contracts"));
  const options = (chains) => chains.map(({ name, title }) => h("option", { value: name }, known.some((each) => each.title === title && each.name !== name) ? `${title} (${name})` : title));
  const tests = known.filter(({ testnet }) => testnet);
  const select = h("select", { id, name: spec.key },
    spec.none && h("option", { value: "" }, spec.none),
    options(known.filter(({ testnet }) => !testnet)),
    tests.length > 0 && h("optgroup", { label: "Test networks" }, options(tests)));
  select.addEventListener("change", () => editor.change(step, spec.key, select.value));
  const control = frame(spec, id, [select]);
  control.show = (value) => {
    const wanted = String(value).toLowerCase();
    const found = wanted === "" && !spec.none ? known[0] : editor.chains.find(({ name, aliases }) => [name, ...aliases].some((each) => each.toLowerCase() === wanted));
    choose(select, found?.name ?? value);
  };
  if (spec.kind === "exchange" && known.length < 2) control.element.hidden = true;
  return control;
}

function flagControl(spec, step, editor, id) {
  const box = h("input", { id, name: spec.key, type: "checkbox" });
  box.addEventListener("change", () => editor.change(step, spec.key, box.checked));
  const control = frame(spec, id, [box], { inline: true });
  control.show = (value) => { box.checked = value === true; };
  return control;
}

// The canonical assets of the chain to choose from, the native one first, and a box for any other and for placeholders.
function assetControl(spec, step, editor, id) {
  const select = h("select", { id, name: spec.key, "aria-required": spec.required ? "true" : null });
  const list = h("datalist", { id: `${id}-list` });
  const other = h("input", { id: `${id}-other`, name: `${spec.key}_other`, type: "text", list: list.id, hidden: true, autocomplete: "off", spellcheck: "false", "aria-label": `${spec.label}: id, symbol or location`, placeholder: "Id, symbol or location" });
  const insert = insertButton(spec, step, editor, () => {
    select.value = OTHER;
    other.hidden = false;
    return other;
  });
  const control = frame(spec, id, [select, other, list, insert]);
  let rows = [];
  select.addEventListener("change", () => {
    other.hidden = select.value !== OTHER;
    if (!other.hidden) other.focus();
    editor.change(step, spec.key, select.value === OTHER ? other.value : select.value);
  });
  other.addEventListener("input", () => editor.change(step, spec.key, other.value, { typed: true }));
  const find = (value) => {
    const wanted = String(value).toLowerCase();
    return rows.find(({ id: each }) => each.toLowerCase() === wanted) ?? rows.find(({ canonical, symbol }) => canonical && symbol.toLowerCase() === wanted);
  };
  // The symbol, as people read it, unless several assets of the chain have it.
  const nameOf = (row) => (rows.filter(({ symbol }) => symbol.toLowerCase() === row.symbol.toLowerCase()).length === 1 ? row.symbol : row.id);
  control.asset = () => find(step.values[spec.key] ?? "");
  const draw = () => fill(select,
    h("option", { value: "" }, spec.none ?? "Choose…"),
    rows.filter(({ canonical }) => canonical).map((row) => h("option", { value: nameOf(row) }, row.name && row.name !== row.symbol ? `${row.symbol} – ${row.name}` : row.symbol)),
    h("option", { value: OTHER }, "Other…"));
  control.show = (value, anew = false) => {
    const found = find(value);
    const isOther = value !== "" && !found?.canonical;
    // What is being typed stays where it is, even while it is empty.
    if (!anew && document.activeElement === other && !other.hidden) return;
    select.value = isOther ? OTHER : value === "" ? "" : nameOf(found);
    if (!isOther && document.activeElement === other) select.focus();
    other.hidden = !isOther;
    other.value = isOther ? String(value) : "";
    control.note(isOther && found ? `${found.symbol || found.id}${found.mark ? `, ${found.mark}` : ""}` : "");
  };
  draw();
  control.refresh = async () => {
    const chain = editor.chainOf(step, spec.of);
    const answer = await editor.assets(chain);
    if (chain !== editor.chainOf(step, spec.of)) return;
    const before = control.asset();
    rows = [...answer].sort((one, two) => (two.kind === "native") - (one.kind === "native"));
    draw();
    fill(list, rows.filter(({ canonical }) => !canonical).map((row) => h("option", { value: row.id }, `${row.symbol || row.name}${row.mark ? `, ${row.mark}` : ""}`)));
    const value = step.values[spec.key] ?? "";
    const native = rows.find(({ kind, canonical }) => kind === "native" && canonical);
    // The native asset of the former chain is hardly meant on another one that doesn't have it.
    if (before?.kind === "native" && native && !find(value)) editor.change(step, spec.key, nameOf(native), { follows: true });
    control.show(step.values[spec.key] ?? "");
    if (spec.key === "assetout") inTokens(step, control.asset(), editor);
    editor.noteAmounts(step);
  };
  return control;
}

// A flow that the daemon wrote has the minimum of a swap in the smallest unit; people read whole tokens.
function inTokens(step, asset, editor) {
  const raw = step.values.min_amount_out ?? "";
  if (!/^\d+$/.test(raw) || step.values.min_received || !Number.isInteger(asset?.decimals)) return;
  const digits = raw.padStart(asset.decimals + 1, "0");
  const at = digits.length - asset.decimals;
  const fraction = digits.slice(at).replace(/0+$/, "");
  editor.settle(step, { min_amount_out: "", min_received: fraction ? `${digits.slice(0, at)}.${fraction}` : digits.slice(0, at) });
}

const MAKERS = { choice: choiceControl, chain: chainControl, exchange: chainControl, flag: flagControl, asset: assetControl };
