// The page's own words for what the daemon says: options, commands, fields of JSON and keys of nodes are for programs.

const TITLES = {
  xTransfer: "Transfer", swap: "Swap", Remark: "Remark", payout: "Payout", chainQuery: "Query", chainTx: "Call", delay: "Delay",
  condition: "Condition", webhook: "Webhook", http: "HTTP request", chain: "Chain", action: "Action", ChainQuery: "Query", ChainTx: "Call",
};

// What people call a type of steps; one of another editor as it is.
export const stepTitle = (type) => TITLES[type] ?? (type.length > 40 ? `${type.slice(0, 39)}…` : type);

const LABELS = {
  address: "Address", account: "Account", amount: "Amount", as: "Account", assetid: "Asset", assetin: "Asset to sell", assetout: "Asset to receive", chain: "Chain",
  cron: "Cron line", destination_address: "Receiver", destinationaddress: "Receiver", diagram: "Diagram", every: "Interval", flow: "Flow file", id: "Scenario",
  name: "Name", nonce: "Nonce", sender: "Account", signature: "Signature", since: "From", tags: "Tags", tip: "Tip", tx: "Transaction", until: "Until", url: "Diagram",
};

const BY_CODE = {
  invalid_request: "The daemon can't use this", bad_json: "This isn't JSON or TOML", too_large: "This is too large", forbidden: "Your token doesn't allow this",
  not_found: "This isn't here any more", conflict: "Something else was done meanwhile", store_busy: "The store is busy", store_failed: "The store can't be used",
  store_unavailable: "The store can't be reached", chain_unreachable: "The chain can't be reached", timed_out: "This took too long", rate_limited: "Too many requests",
  request_failed: "A server gave no good answer", chain_refused: "The chain refused it", stale_cursor: "The store has lost this",
};

// Errors after which nothing is known, and nothing is wrong with what somebody did: they are told in another tone.
const UNKNOWN = new Set(["gone", "chain_unreachable", "timed_out", "not_ready", "store_busy", "store_unavailable", "rate_limited", "request_failed"]);

export const isUnknown = ({ code }) => UNKNOWN.has(code);

// An option, a command, a name in JSON or of a runtime's function, the key of a node, a place in a flow file, a file.
const MACHINE = /(?:^|[\s('"`])--?[a-z][\w-]+|`[^`]*`|\bscenarioctl (?!\d)|\b[A-Za-z]+_\w+|\w+\[\d+\]|\bconfig\.toml|\bzlib\b|\b(?:tx|job|asset|address|flow) (?:status|list|check|logs|add|show)\b/;

export const capital = (text) => text.replace(/^\p{Ll}/u, (letter) => letter.toUpperCase());

// Returns what people can read of a text of the daemon, "" if that is nothing.
export function plain(text) {
  const said = text
    .replace(/\b([A-Z]\w+|xTransfer|http|webhook|delay|payout|swap|condition|chainQuery|chainTx) '\w+_[0-9a-f]{6}'/g, (_, type) => stepTitle(type))
    .replace(/'?\b(chain|action|chainQuery|chainTx|http|webhook|delay|payout|condition|swap)_[0-9a-f]{6}\b'?/g, (_, type) => `the ${stepTitle(type).toLowerCase()}`)
    .replace(/\b(?:xTransfer|chainQuery|chainTx)\b/g, stepTitle)
    .replace(/steps\[(\d+)\]/g, (_, number) => `step ${Number(number) + 1}`)
    .replace(/,? \w+ > [\w ]+ > \w+ for \w+ \d+/, "");
  // What follows a sentence that is for programs is of no use without it.
  const [first, ...others] = said.split(/(?<=[.;]) (?=\S)/);
  return MACHINE.test(first) ? "" : [first, ...others.filter((sentence) => !MACHINE.test(sentence))].join(" ").replace(/;$/, ".");
}

// Returns the sentence of an error; `label` is that of the field at fault, as the page has it.
export function sentenceOf(error, label = "") {
  const { field = "", value, expected = "" } = error.body ?? {};
  const [key] = field.match(/\w*$/);
  const name = label || LABELS[key] || capital(key.replace(/_/g, " "));
  const named = name && field && error.message.startsWith(field) ? name + error.message.slice(field.length) : error.message;
  const said = capital(plain(named));
  if (said) return said;
  if (name) return `${name}${["string", "number"].includes(typeof value) ? ` ${value}` : ""} can't be used${expected && !MACHINE.test(expected) ? `: expected ${expected}` : ""}.`;
  return `${BY_CODE[error.code] ?? "Something went wrong"}.`;
}

// Whether a step of a run is a condition that wasn't met, which the run did all the same.
export const isUnmet = ({ step, outcome, output }) => step === "condition" && outcome === "done" && /"met": *false/.test(output);

export const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

// "cron 0 9 * * 1 (Europe/Berlin)" in words, if it is one that the form makes.
export function scheduleWords(schedule) {
  const [, minute, hour, day, weekday, where] = schedule.match(/^cron (\d+) (\d+|\*) (\d+|\*) \* (\d|\*) \((.*)\)/) ?? [];
  if (minute === undefined || (day !== "*" && weekday !== "*")) return schedule;
  const at = `${hour.padStart(2, "0")}:${minute.padStart(2, "0")}`;
  const days = day !== "*" ? `on day ${day} of the month at ${at}` : weekday !== "*" ? `every ${DAYS[weekday]} at ${at}` : `every day at ${at}`;
  return hour === "*" ? `every hour, ${minute} minutes past` : `${days} (${where})`;
}
