// The step types: which fields each has, and how its keys of a flow file are read into a form and written back.
//
// To add a field, add a row: its `key` in the flow file, its `label`, and its `kind`; `editor_fields.js` draws each kind.

import { chainName } from "./known.js";

// A value of a list or a table as one line: text as it is, anything else as JSON.
function lineOf(value) {
  const plain = typeof value === "string" && !/^\s*[[{"]|\n/.test(value);
  return plain ? value : JSON.stringify(value);
}

function valueOf(line) {
  if (/^\s*[[{"]/.test(line)) {
    try {
      return JSON.parse(line);
    } catch {
      // The daemon says what is wrong with it.
    }
  }
  return line.trim();
}

const lines = (text) => text.split("\n").filter((line) => line.trim());
const tableText = (table) => Object.entries(table).map(([name, value]) => `${name}: ${lineOf(value)}`).join("\n");
const listText = (list) => list.map(lineOf).join("\n");

function tableOf(text) {
  return Object.fromEntries(lines(text).map((line) => {
    const at = line.indexOf(":");
    return at < 0 ? [line.trim(), ""] : [line.slice(0, at).trim(), valueOf(line.slice(at + 1))];
  }));
}

// A comma that can only be a decimal one; the daemon reads amounts itself.
export const withPoint = (text) => (/^\d+,(?:\d{1,2}|\d{4,})$/.test(text) ? text.replace(",", ".") : text);

const READ = { table: tableText, list: listText };
const WRITE = { table: tableOf, list: (text) => lines(text).map(valueOf), number: withPoint };

function read(fields, values) {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => {
    const kind = fields.find((each) => each.key === key)?.kind;
    if (typeof value === "object" && value !== null && READ[kind]) return [key, READ[kind](value)];
    // A key that has no field here stays as it is.
    if (typeof value === "boolean" || kind === undefined) return [key, value];
    return [key, typeof value === "string" ? value : typeof value === "object" ? JSON.stringify(value) : String(value)];
  }));
}

function write(fields, values) {
  const written = {};
  for (const [key, value] of Object.entries(values)) {
    const kind = fields.find((each) => each.key === key)?.kind;
    if (value === "" || value === false || value === null || (typeof value === "string" && !value.trim())) continue;
    if (typeof value !== "string" || kind === undefined) written[key] = value;
    else written[key] = kind === "text" || kind === "long" ? value : (WRITE[kind] ?? ((text) => text.trim()))(value);
  }
  return written;
}

const AMOUNT = { kind: "amount", hint: "In whole tokens, like 1.5.", inputmode: "decimal" };
const SHARE = "In whole tokens, like 1.5, or a formula of the balance, like max - 10 DOT.";
const ITEM = [
  { key: "chain", label: "Chain", kind: "chain" },
  { key: "pallet_name", label: "Pallet", kind: "pallet", of: "chain" },
  { key: "method_name", label: "Item", kind: "item", of: "chain", pallet: "pallet_name" },
];

/** @type {Record<string, any>} */
const TYPES = {
  xTransfer: {
    title: "Transfer",
    about: "Send an asset to an account, on another chain or on the same one",
    start: { source_chain: "polkadot", dest_chain: "assetHub", assetid: "DOT" },
    fields: [
      { key: "source_chain", label: "Source chain", kind: "chain" },
      { key: "dest_chain", label: "Destination chain", kind: "chain", reach: true },
      { key: "assetid", label: "Asset", kind: "asset", of: "source_chain", required: true },
      { key: "amount", label: "Amount", ...AMOUNT, hint: SHARE, required: true, balance: true, maximum: true },
      { key: "destination_address", label: "Receiver", kind: "address", hint: "A name of the address book, or an address.", required: true },
      { key: "sender", label: "Sender", kind: "address", hint: "A name or an address, whose balance a formula is of. Not needed if the scenario acts as an account.", more: true },
      { key: "remote_fee_asset", label: "Asset that pays on the destination", kind: "asset", of: "source_chain", none: "The asset that is sent", more: true, hint: "A little of it goes along and pays for execution on the destination. The destination is asked how much. What is left is the receiver's." },
      { key: "allow_death", label: "Let the transfer close the sender's account", kind: "flag", more: true, hint: "Only within a chain." },
      { key: "accept_loss", label: "Send it also if so little arrives that it is lost", kind: "flag", more: true },
      { key: "xcm_version", label: "XCM version", kind: "choice", options: [["", "Highest that both chains know"], ["3", "3"], ["4", "4"], ["5", "5"]], more: true },
    ],
    says: ({ amount, assetid, source_chain, dest_chain }) => [[amount, assetid], [chainName(source_chain), ...(source_chain === dest_chain ? [] : ["→", chainName(dest_chain)])]],
  },
  swap: {
    title: "Swap",
    about: "Sell one asset for another on Hydration",
    start: {},
    data: { stem: "swap", fields: [["min_received", "The minimum received, in whole tokens"]], hint: "min_received: what the swap receives at least. A transaction that uses it may be submitted only after the swap is in a block." },
    fields: [
      { key: "chain", label: "Chain", kind: "exchange", more: true },
      { key: "assetin", label: "You sell", kind: "asset", of: "chain", required: true },
      { key: "assetout", label: "You receive", kind: "asset", of: "chain", required: true },
      { key: "amount", label: "Amount to sell", ...AMOUNT, required: true, balance: true, quote: true },
      { key: "min_received", label: "Minimum received", kind: "amount", inputmode: "decimal", hint: "In whole tokens. Each draft uses this, or its quote minus the slippage if that is larger." },
      { key: "slippage", label: "Slippage in percent", kind: "number", inputmode: "decimal", hint: "How far the minimum is below the quote. Default: 1." },
      { key: "min_amount_out", label: "Minimum received, in the smallest unit", kind: "amount", inputmode: "numeric", more: true },
      { key: "max_impact", label: "Largest price impact in percent", kind: "number", inputmode: "decimal", hint: "Default: 5.", more: true },
      { key: "exact_minimum", label: "Use the minimum exactly, even far below the quote", kind: "flag", more: true },
      { key: "route", label: "Route", kind: "line", hint: "Hops, for example 5>omnipool>102>stableswap:102>10. Default: straight through the Omnipool, or what the exchange suggests.", more: true },
    ],
    says: ({ amount, assetin, assetout }) => [[amount, assetin, assetout && "→", assetout]],
  },
  Remark: {
    title: "Remark",
    about: "Write a text into a chain's history",
    start: { chain: "polkadot" },
    fields: [
      { key: "chain", label: "Chain", kind: "chain" },
      { key: "text", label: "Text", kind: "text", required: true, hint: "The text becomes a public and permanent part of the chain's history." },
      { key: "plain", label: "Emit no event", kind: "flag", more: true },
    ],
    says: ({ text, chain }) => [[text && `“${text}”`], [chainName(chain)]],
  },
  payout: {
    title: "Payout",
    about: "Pay many accounts in one transaction",
    start: { chain: "polkadot" },
    fields: [
      { key: "chain", label: "Chain", kind: "chain" },
      { key: "lines", label: "Payments", kind: "long", required: true, hint: "CSV whose first line names the columns: account, amount, asset, and if you like memo." },
      { key: "memos", label: "Write the memos into the chain's history", kind: "flag", more: true },
      { key: "force_batch", label: "Go on after a payment that fails", kind: "flag", more: true },
    ],
    says: ({ lines, chain }) => [[lines && `${Math.max(lines.trim().split("\n").length - 1, 0)} payments`], [chain]],
  },
  chainQuery: {
    title: "Query",
    about: "Read a chain, for later steps",
    start: { chain: "polkadot" },
    data: { stem: "query", fields: [["", "The whole answer"]], hint: "A field of the answer, for example data.free. Leave it empty for the whole answer." },
    fields: [
      ...ITEM.map((field) => ({ ...field, required: true, reads: true })),
      { key: "params", label: "Parameters", kind: "list", hint: "One to a line: keys of a map, or arguments of the runtime API." },
      { key: "block", label: "Block", kind: "line", hint: "Hash or number. Default: the newest block.", more: true },
    ],
    says: ({ chain, pallet_name, method_name }) => [[[pallet_name, method_name].filter(Boolean).join(".")], [chainName(chain)]],
  },
  chainTx: {
    title: "Call",
    about: "Draft any call of a chain",
    start: { chain: "polkadot" },
    fields: [
      ...ITEM.map((field) => ({ ...field, required: true })),
      { key: "params", label: "Arguments", kind: "table", hint: "One to a line: name, colon, value. For example remark: 0x68656c6c6f" },
    ],
    says: ({ chain, pallet_name, method_name }) => [[[pallet_name, method_name].filter(Boolean).join(".")], [chainName(chain)]],
  },
  delay: {
    title: "Delay",
    about: "Pause the run",
    start: { seconds: "60" },
    fields: [{ key: "seconds", label: "Seconds", kind: "number", inputmode: "decimal", hint: "At most 86400, a day.", required: true }],
    says: ({ seconds }) => [[seconds && `${seconds} s`]],
  },
  condition: {
    title: "Condition",
    about: "Go on only if a comparison is true",
    start: {},
    data: { stem: "condition", fields: [["met", "Whether it is met"]], hint: "met: true or false." },
    fields: [
      { key: "when", label: "Go on if", kind: "text", required: true, hint: "Two values compared, for example {{ query.data.free }}raw < 5 DOT. Join several with and, or. time and now are in UTC." },
      { key: "else", label: "Else", kind: "choice", options: [["", "Skip the steps behind it"], ["end", "End the run"]] },
      { key: "chain", label: "Chain", kind: "chain", none: "No amounts compared" },
      { key: "asset", label: "Asset of the amounts", kind: "asset", of: "chain", none: "None" },
      { key: "sell", label: "Sell for a quote", kind: "amount", hint: "For example 2 DOT: then quote is what that would bring of the asset now, on Hydration.", more: true },
    ],
    says: ({ when }) => [[when && `if ${when}`]],
  },
  webhook: {
    title: "Webhook",
    about: "Wait for an event that somebody posts",
    start: {},
    data: { stem: "webhook", fields: [], hint: "A field of the event's JSON, for example address or user.name." },
    fields: [
      { key: "name", label: "Name", kind: "line", hint: "For people. The address is made when you save, unless you give a UUID.", required: true },
      { key: "timeout", label: "Timeout in seconds", kind: "number", inputmode: "decimal", hint: "How long a run waits. Default: 3600, an hour.", more: true },
      // Made by the daemon, so it says nothing about what somebody chose.
      { key: "uuid", label: "UUID", kind: "line", hint: "The part of its address behind /webhook/.", more: true, made: true },
    ],
    says: ({ name }) => [[name]],
  },
  http: {
    title: "HTTP request",
    about: "Send a request to a web server",
    start: { method: "GET" },
    data: { stem: "http", fields: [["body", "The body of the response"], ["status", "The status code"], ["headers.etag", "A header"]], hint: "For example body.price, status, or headers.etag." },
    fields: [
      { key: "method", label: "Method", kind: "choice", options: ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"].map((name) => [name, name]) },
      { key: "url", label: "URL", kind: "line", hint: "http or https.", required: true, inputmode: "url" },
      { key: "headers", label: "Headers", kind: "table", hint: "One to a line, for example Accept: application/json", more: true },
      { key: "body", label: "Body", kind: "long", more: true },
      { key: "content_type", label: "Content type", kind: "line", hint: "Default: application/json if there is a body.", more: true },
      { key: "timeout", label: "Timeout in seconds", kind: "number", inputmode: "decimal", hint: "For each attempt. Default: 30.", more: true },
      { key: "retries", label: "Retries", kind: "line", inputmode: "numeric", hint: "Default: 2, at most 10.", more: true },
    ],
    says: ({ method, url }) => [[method, url && url.replace(/[?#].*/s, "?…")]],
  },
};

// Every type with how its values are read and written; `line` is what it does, in one line.
/** @type {Record<string, any>} */
export const KINDS = Object.fromEntries(Object.entries(TYPES).map(([type, kind]) => [type, {
  ...kind,
  type,
  read: (values) => read(kind.fields, values),
  write: (values) => write(kind.fields, values),
  line: (values) => kind.says(values).map((words) => words.filter((word) => word).join(" ")).filter((part) => part).join(" · "),
}]));

// The order in which they are offered.
export const OFFERED = ["xTransfer", "swap", "Remark", "payout", "chainQuery", "condition", "delay", "webhook", "http", "chainTx"];
export const BY_LINK = { transfer: "xTransfer", swap: "swap", remark: "Remark", flow: "" };
