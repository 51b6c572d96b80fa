// The runs of a job, newest first; each with its log and its drafts, which are read when somebody opens it.
// The interface calls the list of drafts "mempool".

import { post } from "./api.js";
import { copyButton, fill, h, inPortions, problemOf } from "./dom.js";
import { amount, durationWords, when } from "./format.js";
import { chainName } from "./known.js";
import { stepsOf } from "./run_steps.js";
import { outcome } from "./scenario_rows.js";
import { isPaid } from "./sent.js";
import { plain, stepTitle } from "./words.js";

// Runs of a page, and what of a run is drawn at first.
const RUNS = 20;
const LINES = 200;
const DRAFTS = 50;
// Drawn in one frame, so that the page stays responsive.
const BATCH = 50;

// `again()` runs the scenario once more.
export function runsPart(id, again, signal) {
  const now = h("ol", { class: "log" });
  const running = h("li", { class: "now", hidden: true }, h("h4", {}, "Since the last run"), h("div", { class: "scroll tall", tabindex: "0", role: "log", "aria-label": "Log since the last run" }, now));
  const list = h("ol", { class: "rows runs" }, running);
  const none = h("p", { class: "hint", hidden: true }, "No runs yet. Run it now, or start it on a schedule.");
  const older = h("button", { type: "button", hidden: true }, "Show older runs");
  const trouble = h("div");
  let newest = { number: 0, finished: "" };
  // The newest run is open until a newer one comes, unless somebody opened it.
  let shown = null;
  // Rows of the list: older ones go as newer ones come, unless somebody has asked for them.
  let most = RUNS;
  // Lines since the last frame.
  let lines = [];

  function drawLines() {
    const box = now.parentElement;
    // Somebody who has scrolled up is reading.
    const follows = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
    now.append(...lines.filter(({ date }) => date > newest.finished).slice(-LINES).map(({ date, text }) => line(date, text)));
    lines = [];
    while (now.childElementCount > LINES || now.firstElementChild?.dataset.date <= newest.finished) now.firstElementChild.remove();
    running.hidden = !now.childElementCount;
    if (follows) box.scrollTop = box.scrollHeight;
  }

  const rows = () => [...list.querySelectorAll("li[data-run]")];
  const oldest = () => rows().filter(({ firstElementChild: { dataset } }) => !dataset.kept).at(-1)?.dataset.run;

  // Puts rows of runs in their places; a row that somebody has opened may be there already.
  function place(runs) {
    for (const run of runs) {
      const below = rows().find(({ dataset }) => Number(dataset.run) <= run.number);
      if (below?.dataset.run !== String(run.number)) list.insertBefore(runRow(id, run, again, signal), below ?? null);
    }
  }

  async function refresh(status) {
    running.querySelector("h4").textContent = status.executing ? "Run in progress" : "Since the last run";
    const page = await post("/job/runs", { id, limit: RUNS }, signal);
    const fresh = page.runs.filter(({ number }) => number > newest.number);
    const isFirst = newest.number === 0;
    if (fresh.length) {
      [newest] = fresh;
      // After a long outage, runs between those and the older ones may be missing: begin anew.
      if (fresh.length === RUNS && !isFirst) for (const each of rows()) each.remove();
      if (isFirst || fresh.length === RUNS) older.hidden = !page.next;
      place(fresh);
      const surplus = rows().slice(most).filter(({ firstElementChild: { dataset, open } }) => !(open && dataset.kept));
      for (const each of surplus) each.remove();
      if (surplus.length) older.hidden = false;
      if (shown && !shown.dataset.kept) shown.open = false;
      shown = rows()[0].querySelector("details");
      shown.open = true;
    }
    none.hidden = newest.number !== 0;
    drawLines();
  }

  older.addEventListener("click", async () => {
    older.disabled = true;
    try {
      const page = await post("/job/runs", { id, limit: RUNS, after: oldest() }, signal);
      most = rows().length + RUNS;
      place(page.runs);
      older.hidden = !page.next;
      fill(trouble);
    } catch (error) {
      if (!signal.aborted) fill(trouble, problemOf(error));
    } finally {
      older.disabled = false;
    }
  });

  let drawing = false;
  function add({ date, text }) {
    lines.push({ date, text });
    if (lines.length > 2 * LINES) lines = lines.slice(-LINES);
    if (drawing) return;
    drawing = true;
    requestAnimationFrame(() => {
      drawing = false;
      drawLines();
    });
  }

  // The store has lost runs: those that it has are drawn anew.
  function restart() {
    lines = [];
    fill(now);
    newest = { number: 0, finished: "" };
    shown = null;
    most = RUNS;
    for (const each of rows()) each.remove();
  }

  const element = h("div", {}, none, list, trouble, h("p", {}, older));
  return { element, refresh, add, restart, tail: LINES };
}

function runRow(id, run, again, signal) {
  const body = h("div", { class: "body" });
  // While it is open.
  let opened = null;
  const details = h("details", {
    ontoggle: async () => {
      if (details.open === Boolean(opened)) return;
      opened?.abort();
      opened = details.open ? new AbortController() : null;
      fill(body);
      if (!opened) return;
      const shown = AbortSignal.any([opened.signal, signal]);
      try {
        const [steps, log, drafts] = await Promise.all([stepsOf(id, run, shown), logOf(id, run, shown), run.drafts ? draftsOf(id, run, shown) : null]);
        if (shown.aborted) return;
        const button = h("button", { type: "button", class: "quiet", title: "Run the scenario once, as it is now", onclick: again }, "Run again");
        fill(body, steps?.(), drafts?.(), log(), h("div", { class: "actions" }, button));
      } catch (error) {
        if (!shown.aborted) fill(body, problemOf(error));
      }
    },
  },
  h("summary", { onclick: () => { details.dataset.kept = "yes"; } },
    outcome(run.outcome), ` Run ${run.number}, `, when(run.started), `, took ${durationWords(run.seconds)}`,
    run.drafts > 0 && `, ${run.drafts} ${run.drafts === 1 ? "draft" : "drafts"}`,
    run.failure && h("span", { class: "problem" }, plain(run.failure) || "It failed. The log says why.")),
  body);
  return h("li", { class: run.outcome, "data-run": run.number }, details);
}

// Adds rows in chunks, one in each frame: before the first chunk, or behind the last one.  Of thousands of rows, the browser
// lays out only those in sight (`far`).
async function addRows(list, rows, make, signal, { atTop = false, far = false } = {}) {
  await inPortions(atTop ? [...rows].reverse() : rows, BATCH, (some) => {
    const chunk = h("li", { class: far ? "chunk far" : "chunk" }, h("ol", {}, (atTop ? some.reverse() : some).map(make)));
    if (atTop) list.prepend(chunk);
    else list.append(chunk);
  }, signal);
}

// Like `stepsOf`, of the log, and below of the drafts.
async function logOf(id, run, signal) {
  const read = (tail) => post("/scenario/worker/logs", { id, run: run.number, times: true, ...tail }, signal);
  const linesIn = (answer) => answer.result.map((text, place) => ({ text, date: answer.times[place] }));
  const found = linesIn(await read({ tail: LINES + 1 }));
  const list = h("ol", { class: "log" });
  const box = h("div", { class: "scroll tall", tabindex: "0", role: "log", "aria-label": `Log of run ${run.number}` }, list);
  const make = ({ text, date }) => line(date, text);
  const more = h("button", { type: "button", hidden: found.length <= LINES }, "Show older lines");
  more.addEventListener("click", async () => {
    more.disabled = true;
    try {
      const all = linesIn(await read({}));
      more.hidden = true;
      await addRows(list, all.slice(0, -LINES), make, signal, { atTop: true, far: true });
      box.focus();
    } catch (error) {
      if (!signal.aborted) more.after(problemOf(error));
      more.disabled = false;
    }
  });
  return () => {
    addRows(list, found.slice(-LINES), make, signal).then(() => { box.scrollTop = box.scrollHeight; });
    return [h("h4", {}, "Log"), more, box];
  };
}

const clock = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

// The day is that of the run.  These times don't grow older while they are shown: there may be thousands.
function line(date, text) {
  const isWrong = /^(?:run failed|Could not generate transaction)\b/.test(text);
  const time = h("time", { title: `${date.slice(0, 10)} ${date.slice(11, 19)} UTC` }, clock.format(Date.parse(date)));
  return h("li", { class: isWrong ? "wrong" : null, "data-date": date }, time, " ", h("span", {}, plain(text) || text));
}

async function draftsOf(id, run, signal) {
  const read = (tail) => post("/scenario/tx", { id, run: run.number, ...tail }, signal);
  const found = (await read({ tail: DRAFTS + 1 })).mempool;
  const list = h("ol", { class: "mempool" });
  const make = (entry) => draft(id, entry);
  const more = h("button", { type: "button", hidden: found.length <= DRAFTS }, "Show older drafts");
  more.addEventListener("click", async () => {
    more.disabled = true;
    try {
      const all = (await read({})).mempool;
      more.hidden = true;
      await addRows(list, all.slice(0, -DRAFTS).reverse(), make, signal, { far: true });
    } catch (error) {
      if (!signal.aborted) more.after(problemOf(error));
      more.disabled = false;
    }
  });
  return () => {
    addRows(list, found.slice(-DRAFTS).reverse(), make, signal);
    return [
      h("h4", {}, found.length > 1 ? "Drafts, newest first" : "Draft"),
      h("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": `Drafts of run ${run.number}` }, list),
      h("p", {}, more)];
  };
}

// UUID of the first draft that the page has shown of each step and occurrence: of the newest ones.
const firstDrafts = new Map();
const KNOWN = 5000;

// Whether an entry repeats a draft that the store has lost since.
function repeats(id, { node, occurrence, uuid }) {
  if (!occurrence || !uuid) return false;
  const key = `${id} ${node} ${occurrence}`;
  if (!firstDrafts.has(key)) firstDrafts.set(key, uuid);
  if (firstDrafts.size > KNOWN) firstDrafts.delete(firstDrafts.keys().next().value);
  return firstDrafts.get(key) !== uuid;
}

function draft(id, entry) {
  const { seq, chain, txType, human, beside, amount: raw, tx, flag, state, sent } = entry;
  const isTransaction = tx.startsWith("0x") && state !== undefined;
  const failed = !isTransaction && txType !== "ChainQuery";
  // What was sent and expired, or failed, was never paid.
  const canSign = isTransaction && state === "current" && (!sent || !isPaid(sent));
  return h("li", { class: flag ? "flagged" : failed ? "failed" : "" },
    h("div", { class: "split" }, h("p", {}, h("strong", {}, stepTitle(txType)), " on ", chainName(chain), human ? [", ", amount(human, isTransaction ? raw : "")] : raw !== "0" && `, ${raw} in the smallest unit`, beside && [" and ", amount(beside), " to pay on the way"], ", ", when(entry.Date), entry.occurrence && [", planned for ", when(entry.occurrence)]),
      !failed && h("div", { class: "actions" },
        canSign && h("a", { class: "button primary", href: `#/sign/?job=${encodeURIComponent(id)}&draft=${seq}`, "aria-label": `Sign and send draft ${seq}` }, "Sign and send"),
        copyButton("Copy", tx))),
    repeats(id, entry) && h("p", { class: "problem" }, "This occurrence was drafted before, and the store has lost that draft. Sign one of them."),
    sent && h("p", {}, h("a", { href: `#/tx/?chain=${encodeURIComponent(chain)}&hash=${encodeURIComponent(sent.hash)}` }, sentWords(sent))),
    flag && h("p", { class: "problem" }, plain(flag)),
    !flag && !sent && state === "expired" && h("p", { class: "hint" }, "Expired. The next run drafts it again."),
    failed ? h("p", { class: "problem" }, plain(tx))
      : isTransaction ? h("details", {}, h("summary", {}, "Unsigned transaction"), h("pre", { class: "hex", tabindex: "0", "aria-label": `${stepTitle(txType)} draft ${seq}` }, tx))
        : h("pre", { class: "hex", tabindex: "0", "aria-label": `Answer of ${chainName(chain)}` }, tx));
}

const SENT = { uncertain: "May have been sent", sent: "Sent", "in-block": "In block", finalized: "Finalized in block", expired: "Sent, and expired", unknown: "Sent before" };

function sentWords({ state, block_number: block, success }) {
  const words = success === false ? "Failed in block" : SENT[state] ?? "Sent";
  return block === null || block === undefined ? words.replace(/ in block$/i, "") : `${words} ${block}`;
}
