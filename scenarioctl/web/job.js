// The job of a scenario: start, stop, status, log and drafts.
// The interface calls the list of drafts "mempool".

import { follow, onGone, post } from "./api.js";
import { copyButton, field, fill, form, h, problemOf, say, when } from "./dom.js";

// More would slow the browser down. The daemon has all of them.
const LINES = 500;
const DRAFTS = 100;
// Drawn in one frame.
const BATCH = 50;

export function jobPart(scenario, signal) {
  const { id } = scenario;
  const section = h("section", { "aria-labelledby": "job" }, h("h2", { id: "job" }, "Job"));
  const state = h("p", { class: "state", role: "status" });
  const trouble = h("div");
  const refused = h("div");
  const log = h("ol", { class: "log" });
  const mempool = h("ol", { class: "mempool" });
  const older = h("p", { class: "hint", hidden: true }, `The newest ${LINES} lines. For the whole log: `, h("code", {}, `scenarioctl job logs ${id}`));

  async function refresh() {
    try {
      const status = await post("/job/status", { id }, signal);
      fill(state, words(status));
      fill(trouble);
      stop.disabled = status.state !== "running";
      start.querySelector("button").disabled = status.state === "running";
    } catch (error) {
      if (signal.aborted) return;
      if (error.code === "not_found" && error.status === 404 && !/scenario/.test(error.message)) {
        fill(section, h("h2", { id: "job" }, "Job"), h("p", { class: "hint" }, "The job worker is not available at this address."));
        return;
      }
      fill(trouble, problemOf(error));
    }
  }

  const start = form("Start", async (given) => {
    const { result } = await post("/job/start", { id, ...given });
    say(result);
    await refresh();
  },
  field("every", "Every", { options: [["30s", "30 seconds"], ["10m", "10 minutes"], ["12h", "12 hours"]], hint: "For example 30s, 10m or 12h. Default: 12h." }),
  field("cron", "Or cron", { hint: "Five fields, for example */15 * * * *" }));
  const stop = h("button", { type: "button" }, "Stop");
  stop.addEventListener("click", async () => {
    fill(refused);
    try {
      say((await post("/job/stop", { id })).result);
      await refresh();
    } catch (error) {
      fill(refused, problemOf(error));
    }
  });

  section.append(
    state,
    h("div", { class: "job" }, start, h("div", { class: "actions" }, stop)),
    refused, trouble,
    h("div", { class: "columns" },
      h("section", { class: "card", "aria-labelledby": "log" }, h("h3", { id: "log" }, "Log"), older, h("div", { class: "scroll tall", tabindex: "0", role: "log", "aria-label": "Job log" }, log)),
      h("section", { class: "card", "aria-labelledby": "mempool" }, h("h3", { id: "mempool" }, "Drafts"), h("p", { class: "hint" }, "Unsigned transactions, newest first (the mempool of the HTTP interface)."), h("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Job drafts" }, mempool))));

  refresh();
  const waiting = [];
  let drawing = false;
  let soon;

  // A log of thousands of lines may come at once. Each frame draws some, so that the page stays responsive.
  function draw() {
    const box = log.parentElement;
    const atEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - 40;
    const batch = waiting.splice(0, BATCH);
    log.append(...batch.filter(([kind]) => kind === "log").map(([, data]) => h("li", {}, when(data.date), " ", data.text)));
    mempool.prepend(...batch.filter(([kind]) => kind === "mempool").map(([, data]) => draft(data)).reverse());
    while (log.childElementCount > LINES) log.firstElementChild.remove();
    while (mempool.childElementCount > DRAFTS) mempool.lastElementChild.remove();
    older.hidden = log.childElementCount < LINES;
    if (atEnd) box.scrollTop = box.scrollHeight;
    drawing = waiting.length > 0;
    if (drawing) requestAnimationFrame(draw);
  }

  follow("/job/events", { id, tail: LINES }, (kind, data) => {
    waiting.push([kind, data]);
    if (!drawing) {
      drawing = true;
      requestAnimationFrame(draw);
    }
    // Many lines come at once; one request for the state follows them.
    clearTimeout(soon);
    soon = setTimeout(refresh, 300);
  }, signal).catch((error) => { if (!signal.aborted && error.status !== 404) fill(trouble, problemOf(error)); });
  onGone((gone) => { if (!gone) refresh(); }, signal);
  return section;
}

function words(status) {
  const parts = [h("strong", { class: `badge ${status.state}` }, status.state === "running" ? "running" : status.state === "paused" ? "paused" : "not running")];
  if (status.schedule) parts.push(" ", status.schedule);
  if (status.step) parts.push(", waiting for ", status.step);
  if (status.next) parts.push(", next run ", when(status.next));
  if (status.last) parts.push(status.outcome === "failed" ? ", last run failed, started " : ", last run started ", when(status.last));
  if (status.runs) parts.push(`, ${status.runs} ${status.runs === 1 ? "run" : "runs"}`);
  if (status.reason) parts.push(h("span", { class: "problem" }, ` ${status.reason}`));
  return parts;
}

function draft(entry) {
  const failed = !entry.tx.startsWith("0x") && entry.txType !== "ChainQuery";
  return h("li", { class: entry.flag ? "flagged" : failed ? "failed" : "" },
    h("p", {}, h("strong", {}, entry.txType), " ", entry.chain, entry.amount !== "0" ? `, ${entry.amount}` : "", " ", when(entry.Date)),
    entry.flag && h("p", { class: "problem" }, entry.flag),
    failed ? h("p", { class: "problem" }, entry.tx) : h("pre", { class: "hex", tabindex: "0", "aria-label": `${entry.txType} draft` }, entry.tx),
    !failed && h("div", { class: "actions" }, copyButton("Copy", entry.tx)));
}
