// Requests to the daemon.  The token is kept in the memory of this module only.

let token = "";
/** @type {(refused?: boolean) => Promise<string>} */
let askForToken = async () => "";
// What doesn't respond: "daemon", "store", or nothing.
let gone = "";
// When it was heard of last.
let heard = 0;
const watchers = new Set();
// Milliseconds between two looks at the daemon, and how long it may take to answer: an outage is told within two seconds.
const BEAT = 800;
const PATIENCE = 1100;

export class Refusal extends Error {
  constructor(sentence, code, status, body) {
    super(sentence);
    this.code = code;
    this.status = status;
    this.body = body;
  }
}

export function onToken(ask) {
  askForToken = ask;
}

// Calls `tell("daemon")` or `tell("store")` when that stops responding, and `tell("")` when both are back, until `signal` aborts.
export function onGone(tell, signal = undefined) {
  watchers.add(tell);
  signal?.addEventListener("abort", () => watchers.delete(tell));
}

export function setGone(now) {
  if (gone === now) return;
  gone = now;
  for (const tell of watchers) tell(now);
}

// An answer from a proxy tells nothing of the daemon; one of the daemon tells nothing of its store.
function answered(answer) {
  heard = Date.now();
  if ([502, 504].includes(answer.status)) setGone("daemon");
  else if (gone === "daemon") setGone("");
}

// Looks whether daemon and store respond, in every view, while somebody sees the page.
export async function watch() {
  if (document.visibilityState === "visible") {
    const began = Date.now();
    try {
      const answer = await fetch("/readyz", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
      answered(answer);
      if (answer.status === 200) setGone("");
      else if (answer.status === 503) setGone((await refusalOf(answer)).body.field === "store" ? "store" : "");
    } catch (error) {
      // It may be busy with what else this page asked of it.
      if (error.name !== "TimeoutError" || heard < began) setGone("daemon");
    }
  }
  setTimeout(watch, BEAT);
}

// Tells one token from another, and nothing of it: FNV-1a in 64 bits.  Empty without a token.
export const tokenMark = () =>
  token && [...token].reduce((hash, letter) => BigInt.asUintN(64, (hash ^ BigInt(letter.codePointAt(0))) * 0x100000001b3n), 0xcbf29ce484222325n).toString(16);

function headers(more = {}) {
  return token ? { ...more, Authorization: `Bearer ${token}` } : more;
}

async function send(method, path, fields, signal) {
  /** @type {RequestInit} */
  const options = { method, headers: headers(), cache: "no-store", signal };
  let target = path;
  if (method === "GET") {
    const query = new URLSearchParams(Object.entries(fields).filter(([, value]) => value !== ""));
    if (query.size) target += `?${query}`;
  } else {
    options.headers = headers({ "Content-Type": "application/json" });
    options.body = JSON.stringify(fields);
  }
  try {
    const answer = await fetch(target, options);
    answered(answer);
    return answer;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    setGone("daemon");
    throw new Refusal("The daemon is not responding. Your input is kept; try again when the daemon is back.", "gone", 0, {});
  }
}

let asking = null;

// One dialog, even if many requests are refused at the same time.
function newToken(refused) {
  asking ??= askForToken(refused).finally(() => { asking = null; });
  return asking;
}

async function admitted(method, path, fields, signal) {
  let answer = await send(method, path, fields, signal);
  while (answer.status === 401) {
    const used = token;
    const given = await newToken(used !== "");
    if (!given) break;
    token = given;
    answer = await send(method, path, fields, signal);
  }
  return answer;
}

function listIn(answer, name) {
  try {
    return JSON.parse(decodeURIComponent(answer.headers.get(name) ?? "[]"));
  } catch {
    return [];
  }
}

async function refusalOf(answer) {
  let body = {};
  try {
    body = await answer.json();
  } catch {
    // The answer is from a proxy.
  }
  const sentence = body.error ?? `The daemon returned HTTP ${answer.status}`;
  // What it says of other fields is for a command line or a program.
  const end = body.advice && sentence.endsWith(body.advice) ? -body.advice.length - 1 : undefined;
  return new Refusal(sentence.slice(0, end), body.code ?? "", answer.status, body);
}

// Returns the documented answer, with the sentences of its headers in `warnings` and `notes`.
export async function call(method, path, fields = {}, signal = undefined) {
  const answer = await admitted(method, path, fields, signal);
  if (!answer.ok) throw await refusalOf(answer);
  const body = await answer.json();
  Object.defineProperty(body, "warnings", { value: listIn(answer, "Scenarioctl-Warnings"), enumerable: false });
  Object.defineProperty(body, "notes", { value: listIn(answer, "Scenarioctl-Notes"), enumerable: false });
  return body;
}

export const post = (path, fields, signal) => call("POST", path, fields, signal);
export const get = (path, fields, signal) => call("GET", path, fields, signal);

// A browser opens six connections to one host, and a stream holds one, so a hidden page closes its stream.
function seen(signal) {
  return new Promise((settle) => {
    const look = () => {
      if (document.visibilityState === "hidden" && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      signal.removeEventListener("abort", look);
      settle();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look);
    look();
  });
}

/** @returns {[AbortSignal, () => void]} */
function whileSeen(signal) {
  const connection = new AbortController();
  const close = () => connection.abort();
  const look = () => { if (document.visibilityState === "hidden") close(); };
  signal.addEventListener("abort", close);
  document.addEventListener("visibilitychange", look);
  addEventListener("pagehide", close);
  const forget = () => {
    signal.removeEventListener("abort", close);
    document.removeEventListener("visibilitychange", look);
    removeEventListener("pagehide", close);
  };
  return [connection.signal, forget];
}

// Server-sent events by fetch, because an EventSource cannot send the token.  After `restart` they come from the beginning: the
// store has lost what was told last.
export async function follow(path, fields, tell, signal) {
  let last = "";
  for (;;) {
    await seen(signal);
    if (signal.aborted) return;
    const [connected, forget] = whileSeen(signal);
    try {
      const answer = await admitted("GET", path, last ? { ...fields, after: last } : fields, connected);
      if (!answer.ok) throw await refusalOf(answer);
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let buffer = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        heard = Date.now();
        buffer += value;
        const parts = buffer.split("\n\n");
        buffer = parts.pop();
        for (const part of parts) {
          const event = { event: "message", data: "", id: "" };
          for (const line of part.split("\n")) {
            const at = line.indexOf(":");
            if (at > 0) event[line.slice(0, at)] = line.slice(at + 1).trimStart();
          }
          if (event.id) last = event.id;
          if (event.data) tell(event.event, JSON.parse(event.data));
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refusal && error.status === 410 && last) {
        last = "";
        tell("restart");
        continue;
      }
      if (error instanceof Refusal && error.status >= 400 && error.status < 500 && error.status !== 429) throw error;
    } finally {
      forget();
    }
    await new Promise((wake) => setTimeout(wake, 1000));
  }
}
