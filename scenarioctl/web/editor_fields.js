// The fields of a step's form.  Each has one control: `show(value)` sets it, `problem(sentence)` says what is wrong
// with it, and `refresh()` is called when a field that it depends on has changed.

import { combobox } from "./combobox.js";
import { fill, h, say } from "./dom.js";
import { maximumOf } from "./editor_amounts.js";
import { insertButton } from "./editor_data.js";
import { disc, tokenMark } from "./icons.js";
import { known, knownName, named } from "./known.js";
import { sentenceOf } from "./words.js";

let count = 0;

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
  const shares = spec.maximum ? [25, 50, 75, 100].map((share) => h("button", { type: "button", class: "share", "aria-label": share < 100 ? `${share} % of all that can be sent` : "Max: all that can be sent", onclick: (event) => setShare(share, event.target) }, share < 100 ? `${share} %` : "Max")) : [];
  const control = frame(spec, id, [input, list, insertButton(spec, step, editor, () => input), ...shares].filter((each) => each));
  async function setShare(share, button) {
    button.disabled = true;
    try {
      const asset = editor.cards.get(step.uid).controls.find(({ key }) => key === "assetid").asset();
      control.show(shareOf(await maximumOf(step, editor), share, asset?.decimals ?? 0));
      editor.change(step, spec.key, input.value);
    } catch (error) {
      if (!editor.signal.aborted) say(sentenceOf(error));
    } finally {
      button.disabled = false;
    }
  }
  control.show = (value) => { if (input.value !== String(value)) input.value = String(value); };
  if (spec.kind === "address") nameReceiver(control, input, list, (address) => editor.change(step, spec.key, address));
  else if (list) control.refresh = () => suggest(spec, step, editor, list);
  return control;
}

// A share of an amount, exact, rounded down to its last digit.
function shareOf(most, percent, decimals) {
  const [whole, part = ""] = most.split(".");
  const places = Math.max(part.length, decimals);
  const raw = String((BigInt(whole + part.padEnd(places, "0")) * BigInt(percent)) / 100n).padStart(places + 1, "0");
  return percent === 100 || !places ? most : `${raw.slice(0, -places)}.${raw.slice(-places)}`.replace(/\.?0+$/, "");
}

// Offers the accounts of the address book, takes the name of one for its address, and says the name of the one that is typed.
function nameReceiver(control, input, list, change) {
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
  input.addEventListener("change", async () => {
    const entry = await named(input.value).catch(() => null);
    if (!entry) return;
    control.show(entry.address);
    change(entry.address);
  });
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

// A chain, found by its title, its name or its symbol.  Those that `spec.reach` says can't be reached are left out.
function chainControl(spec, step, editor, id) {
  const known = editor.chains.filter(({ role }) => (spec.kind === "exchange" ? role === "dex" : role !== "contracts"));
  let reached = null;
  const optionOf = ({ name, title, symbol, aliases, testnet }) => ({ value: name, words: `${title}${testnet ? " (test network)" : known.some((each) => each.title === title && each.name !== name) ? ` (${name})` : ""}`, also: [title, symbol, ...aliases], mark: () => disc(name) });
  const options = () => [...(spec.none ? [{ value: "", words: spec.none }] : []), ...known.filter(({ name }) => !reached || reached.has(name)).map(optionOf)];
  const box = combobox({ id, name: spec.key, placeholder: spec.none }, options, (value, typed) => editor.change(step, spec.key, value, { typed }));
  const control = frame(spec, id, [box.input, box.list]);
  control.show = (value) => {
    const wanted = String(value).toLowerCase();
    const found = wanted === "" && !spec.none ? known[0] : editor.chains.find(({ name, aliases }) => [name, ...aliases].some((each) => each.toLowerCase() === wanted));
    box.show(found && !box.find(found.name) ? found.title : found?.name ?? value);
  };
  if (spec.reach) {
    control.refresh = async () => {
      const from = editor.chainOf(step, "source_chain");
      const asset = String(step.values.assetid ?? "").toLowerCase();
      const { routes_out: routes } = await editor.once(`/api/chains/${encodeURIComponent(from)}`, {}, { routes_out: null });
      if (!routes || from !== editor.chainOf(step, "source_chain")) return;
      const named = ({ id: each, symbol }) => !asset || asset.includes("{{") || [each, symbol].some((one) => one.toLowerCase() === asset);
      reached = new Set([from, ...routes.filter(({ assets }) => assets.some(named)).map(({ chain }) => chain)]);
      const left = known.length - [...reached].length;
      control.note(left > 0 && `${left} chains are left out: no proven way leads there${asset ? ` for ${step.values.assetid}` : ""}.`);
      if (!control.hasFocus()) control.show(step.values[spec.key] ?? "");
    };
  }
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

// An asset of the chain, found by symbol, title or id, the native one first; anything else may be typed, and placeholders.
function assetControl(spec, step, editor, id) {
  let rows = [];
  // The symbol, as people read it, unless several assets of the chain have it.
  const nameOf = (row) => (rows.filter(({ symbol }) => symbol.toLowerCase() === row.symbol.toLowerCase()).length === 1 ? row.symbol : row.id);
  const wordsOf = (row) => [row.symbol || row.id, row.name && row.name !== row.symbol ? row.name : "", row.canonical ? "" : `${row.id}${row.mark ? `, ${row.mark}` : ""}`].filter(Boolean).join(" – ");
  const options = () => [...(spec.none ? [{ value: "", words: spec.none }] : []), ...rows.map((row) => ({ value: row.canonical ? nameOf(row) : row.id, words: wordsOf(row), also: [row.id, ...(row.canonical ? [row.symbol] : [])], mark: () => tokenMark(row.symbol || "?") }))];
  const box = combobox({ id, name: spec.key, "aria-required": spec.required ? "true" : null, placeholder: spec.none ?? "Symbol, name or id" }, options, (value, typed) => editor.change(step, spec.key, value, { typed }), { free: true });
  const control = frame(spec, id, [box.input, box.list, insertButton(spec, step, editor, () => box.input)].filter(Boolean));
  const find = (value) => {
    const wanted = String(value).toLowerCase();
    return rows.find(({ id: each }) => each.toLowerCase() === wanted) ?? rows.find(({ canonical, symbol }) => canonical && symbol.toLowerCase() === wanted);
  };
  control.asset = () => find(step.values[spec.key] ?? "");
  control.show = (value) => box.show(String(value));
  control.refresh = async () => {
    const chain = editor.chainOf(step, spec.of);
    const answer = await editor.assets(chain);
    if (chain !== editor.chainOf(step, spec.of)) return;
    const before = control.asset();
    rows = [...answer].sort((one, two) => Number(two.kind === "native") - Number(one.kind === "native") || Number(two.canonical) - Number(one.canonical));
    const value = step.values[spec.key] ?? "";
    const native = rows.find(({ kind, canonical }) => kind === "native" && canonical);
    // The native asset of the former chain is hardly meant on another one that doesn't have it.
    if (before?.kind === "native" && native && !find(value)) editor.change(step, spec.key, nameOf(native), { follows: true });
    if (!control.hasFocus()) control.show(step.values[spec.key] ?? "");
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
