// The job of a scenario: start and stop it, watch its log and its mempool grow.

import { follow, post } from "./api.js";
import { copyButton, field, form, h, problemOf, say, when } from "./dom.js";

// A browser slows down with more; the daemon keeps them all.
const LINES = 500;
const DRAFTS = 100;

export function jobPart(scenario, signal) {
  const { id } = scenario;
  const section = h("section", { "aria-labelledby": "job" }, h("h2", { id: "job" }, "Job"));
  const state = h("p", { class: "state", role: "status" });
  const trouble = h("div");
  const log = h("ol", { class: "log" });
  const mempool = h("ol", { class: "mempool" });

  async function refresh() {
    try {
      const status = await post("/job/status", { id }, signal);
      state.replaceChildren(...words(status));
      stop.disabled = status.state !== "running";
      start.querySelector("button").disabled = status.state === "running";
    } catch (error) {
      if (signal.aborted) return;
      if (error.code === "not_found" && error.status === 404 && !/scenario/.test(error.message)) {
        section.replaceChildren(h("h2", { id: "job" }, "Job"), h("p", { class: "hint" }, "No job worker is served at this address."));
        return;
      }
      trouble.replaceChildren(problemOf(error));
    }
  }

  const start = form("Start", async (given) => {
    const { result } = await post("/job/start", { id, ...given });
    say(result);
    await refresh();
  },
  field("every", "Every", { options: [["30s", "30 seconds"], ["10m", "10 minutes"], ["12h", "12 hours"]], hint: "Like 30s, 10m or 12h; 12 hours by default." }),
  field("cron", "or cron", { hint: "Five fields, like */15 * * * *" }));
  const stop = h("button", { type: "button" }, "Stop");
  stop.addEventListener("click", async () => {
    try {
      say((await post("/job/stop", { id })).result);
      await refresh();
    } catch (error) {
      trouble.replaceChildren(problemOf(error));
    }
  });

  section.append(
    state,
    h("div", { class: "job" }, start, h("div", { class: "actions" }, stop)),
    trouble,
    h("div", { class: "columns" },
      h("section", { class: "card", "aria-labelledby": "log" }, h("h3", { id: "log" }, "Log"), h("div", { class: "scroll tall", tabindex: "0", role: "log", "aria-label": "Log of the job" }, log)),
      h("section", { class: "card", "aria-labelledby": "mempool" }, h("h3", { id: "mempool" }, "Mempool"), h("p", { class: "hint" }, "Unsigned drafts, the newest first."), h("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Mempool of the job" }, mempool))));

  refresh();
  let soon;
  follow("/job/events", { id }, (kind, data) => {
    if (kind === "log") {
      const box = log.parentElement;
      const atEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - 40;
      log.append(h("li", {}, when(data.date), " ", data.text));
      while (log.childElementCount > LINES) log.firstElementChild.remove();
      if (atEnd) box.scrollTop = box.scrollHeight;
    } else if (kind === "mempool") {
      mempool.prepend(draft(data));
      while (mempool.childElementCount > DRAFTS) mempool.lastElementChild.remove();
    }
    // Many lines come at once; the state is asked for when they have come.
    clearTimeout(soon);
    soon = setTimeout(refresh, 300);
  }, signal).catch((error) => { if (!signal.aborted && error.status !== 404) trouble.replaceChildren(problemOf(error)); });
  return section;
}

function words(status) {
  const parts = [h("strong", { class: `badge ${status.state}` }, status.state === "running" ? "running" : status.state === "paused" ? "paused" : "not running")];
  if (status.schedule) parts.push(" ", status.schedule);
  if (status.step) parts.push(", waits for ", status.step);
  if (status.next) parts.push(", next run ", when(status.next));
  if (status.last) parts.push(", last run ", when(status.last));
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
