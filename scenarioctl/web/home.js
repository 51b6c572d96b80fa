// The home: what needs somebody, the chains, the jobs, the newest scenarios.  All of it comes by one stream of events.

import { follow, post } from "./api.js";
import { fill, h, problemOf, say } from "./dom.js";
import { amount, durationWords, grouped, timeWords, when } from "./format.js";
import { nameOf, scenarioLink, scenarioRow, scenarioTable } from "./scenario_rows.js";

// The daemon tells something every few seconds; silence for longer means that what is shown may be old.
const SILENCE = 25_000;
const SVG = "http://www.w3.org/2000/svg";

export function homeView(signal) {
  const strip = h("ul", { class: "strip", "aria-label": "Daemon and chains" });
  const top = { place: strip };
  const stale = h("p", { class: "notice", role: "status", hidden: true });
  const needs = part("needs", "Needs you");
  const jobs = part("jobs", "Jobs");
  const scenarios = part("scenarios", "Scenarios");
  const trouble = h("div");
  const view = h("section", { class: "home", "aria-busy": "true" },
    h("h1", { tabindex: "-1" }, "Home"), strip, stale, trouble, needs.section, jobs.section, scenarios.section);
  let status = null;
  let chains = [];
  let heard = Date.now();

  function tell(kind, data) {
    heard = Date.now();
    stale.hidden = true;
    view.classList.remove("stale");
    fill(trouble);
    if (kind === "chains") ({ chains } = data);
    if (kind === "status") {
      status = data;
      view.removeAttribute("aria-busy");
      document.title = `${status.needs.count ? `(${status.needs.count}) ` : ""}Home – scenarioctl`;
      const isEmpty = !status.scenarios;
      needs.section.hidden = jobs.section.hidden = isEmpty;
      draw(needs, status.needs, needsOf);
      draw(jobs, { jobs: status.jobs, total: status.jobs_total }, jobsOf);
      draw(scenarios, isEmpty ? null : { rows: status.recent, total: status.scenarios }, isEmpty ? choices : scenariosOf);
    }
    if (status) draw(top, [status.version, status.offline, status.worker, status.workers, chains], () => stripOf(status, chains));
  }

  const clock = setInterval(() => {
    for (const age of strip.querySelectorAll("[data-since]")) age.textContent = ageWords(age.dataset.since);
    const silent = Date.now() - heard;
    if (silent < SILENCE || !status) return;
    view.classList.add("stale");
    stale.hidden = false;
    stale.textContent = `No news since ${new Date(heard).toLocaleTimeString("en", { hourCycle: "h23" })} (${durationWords(silent / 1000)} ago). What you see may be old.`;
  }, 1000);
  signal.addEventListener("abort", () => clearInterval(clock));
  follow("/api/status/events", {}, tell, signal).catch((error) => { if (!signal.aborted) fill(trouble, problemOf(error)); });
  return view;
}

function part(id, title) {
  const place = h("div", {}, h("div", { class: "skeleton" }, h("div")));
  return { place, section: h("section", { "aria-labelledby": id }, h("h2", { id }, title), place) };
}

// Draws what has changed, and leaves the focus where it was.
function draw(where, data, drawn) {
  const said = JSON.stringify(data);
  if (where.said === said) return;
  where.said = said;
  const key = where.place.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  fill(where.place, drawn(data));
  if (key) where.place.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
}

function stripOf(status, chains) {
  return [
    h("li", {}, h("b", {}, `scenarioctl ${status.version}`), status.offline ? " offline" : ""),
    h("li", { class: status.worker ? "right" : "doubt" }, h("b", {}, "Worker"), status.worker ? " running" : " not running: jobs wait for one"),
    status.workers.map((worker) => h("li", { class: worker.silent ? "doubt" : "" }, h("b", {}, worker.host), " ", workerWords(worker))),
    chains.map((chain) => h("li", { class: TONES[chain.state] }, h("b", {}, chain.title), " ", chainWords(chain))),
  ];
}

function workerWords({ version, clock_offset: offset, last_seen: seen, silent, running }) {
  return [
    version && `${version}, `, running === 1 ? "1 run" : `${running} runs`,
    Math.abs(offset ?? 0) >= 0.25 && `, clock ${Math.abs(offset).toFixed(1)} s ${offset > 0 ? "ahead" : "behind"}`,
    silent && [", silent since ", h("span", { "data-since": seen }, ageWords(seen))],
  ];
}

const TONES = { connected: "right", unreachable: "wrong", offline: "", unknown: "" };

function chainWords({ state, block, block_time: time, reason }) {
  if (state === "connected") return [`block ${grouped(block)}`, time && [", ", h("span", { "data-since": time, title: `${time.slice(0, 10)} ${time.slice(11, 19)} UTC` }, ageWords(time))]];
  if (state === "unreachable") return ["unreachable ", h("span", { class: "why" }, reason)];
  return state === "offline" ? "offline" : "being asked…";
}

// Blocks are seconds old, so that minutes are too coarse.
function ageWords(iso) {
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(iso)) / 1000));
  return seconds < 60 ? `${seconds} s ago` : timeWords(iso);
}

function needsOf(needs) {
  if (!needs.count) return h("p", { class: "hint" }, "Nothing needs you.");
  return [
    h("p", { class: "hint", role: "status" }, needs.count === 1 ? "1 thing needs you." : `${needs.count} things need you.`),
    h("ul", { class: "needs" },
      needs.sign.map(toSign), more(needs.sign_total - needs.sign.length, "to sign"),
      needs.paused.map((job) => inNeed(job, "paused", "Paused")), more(needs.paused_total - needs.paused.length, "paused"),
      needs.failing.map((job) => inNeed(job, "failing", job.failures === 1 ? "Failed" : `Failed ${job.failures} times`)), more(needs.failing_total - needs.failing.length, "failing"))];
}

function more(count, what) {
  return count > 0 && h("li", { class: "hint" }, `And ${count} more ${what}.`);
}

function titled(row, kind) {
  return h("a", { href: scenarioLink(row.id), "data-key": `${kind} ${row.id}` }, nameOf(row));
}

function toSign(row) {
  const others = row.drafts - 1;
  return h("li", { class: row.expiring ? "need doubt" : "need" },
    h("div", {},
      h("p", {}, h("span", { class: "badge" }, "To sign"), " ", titled(row, "draft")),
      h("p", { class: "hint" },
        row.human ? [amount(row.human, row.amount), " on "] : `${row.txType} on `, row.chain, ", expires ", when(row.expires),
        others > 0 && `, and ${others} older ${others === 1 ? "draft" : "drafts"}`)),
    h("a", { class: "button primary", href: `#/sign/?job=${encodeURIComponent(row.id)}&draft=${row.draft}`, "data-key": `sign ${row.id}`, "aria-label": `Sign and send ${nameOf(row)}` }, "Sign and send"));
}

function inNeed(job, kind, word) {
  const resume = kind === "paused" && h("button", {
    type: "button", "data-key": `resume ${job.id}`, "aria-label": `Resume ${nameOf(job)}`,
    onclick: async () => {
      try {
        say((await post("/job/resume", { id: job.id })).result);
      } catch (error) {
        say(error.message);
      }
    },
  }, "Resume");
  return h("li", { class: kind === "paused" ? "need doubt" : "need wrong" },
    h("div", {},
      h("p", {}, h("span", { class: `badge ${kind}` }, word), " ", titled(job, kind), " ", h("span", { class: "hint" }, when(job.since))),
      job.reason && h("p", { class: kind === "paused" ? "hint" : "problem" }, job.reason)),
    resume);
}

function jobsOf({ jobs, total }) {
  if (!jobs.length) return h("p", { class: "hint" }, "No job yet. Open a scenario to run it on a schedule.");
  return [
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of jobs" },
      h("table", { class: "list" },
        h("caption", { class: "offscreen" }, "Jobs, the running ones first"),
        h("thead", {}, h("tr", {}, ["Job", "State", "Last runs", "Next run"].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, jobs.map(jobRow)))),
    more(total - jobs.length, "jobs") && h("p", { class: "hint" }, `The first ${jobs.length} of ${total} jobs.`)];
}

function jobRow(job) {
  const state = job.executing ? "executing" : job.state;
  return h("tr", {},
    h("th", { scope: "row" }, h("a", { href: scenarioLink(job.id), "data-key": `job ${job.id}` }, nameOf(job)), h("p", { class: "hint" }, job.schedule ?? "")),
    h("td", { "data-label": "State" }, h("span", { class: `badge ${job.state}` }, state === "stopped" ? "not running" : state), job.step && h("p", { class: "hint" }, `waiting for ${job.step}`)),
    h("td", { "data-label": "Last runs" }, bars(job.runs)),
    h("td", { class: "when", "data-label": "Next run" }, job.next ? when(job.next) : "none"));
}

const WIDTH = 6;
const HEIGHT = 24;

// A bar for each run, the newest to the right: the longer the run, the higher.
export function bars(runs) {
  if (!runs.length) return h("span", { class: "hint" }, "none yet");
  const failed = runs.filter(({ outcome }) => outcome === "failed").length;
  const newest = runs[0].outcome === "failed" ? "the newest failed" : "the newest succeeded";
  const words = `Last ${runs.length === 1 ? "run" : `${runs.length} runs`}: ${runs.length - failed} succeeded, ${failed} failed, ${newest}`;
  const svg = document.createElementNS(SVG, "svg");
  for (const [name, value] of Object.entries({ class: "bars", role: "img", "aria-label": words, width: runs.length * WIDTH, height: HEIGHT })) svg.setAttribute(name, value);
  const longest = Math.log1p(Math.max(...runs.map(({ seconds }) => seconds), 1));
  [...runs].reverse().forEach((run, place) => {
    const high = 10 + (HEIGHT - 10) * (Math.log1p(run.seconds) / longest);
    const bar = document.createElementNS(SVG, "rect");
    for (const [name, value] of Object.entries({ class: run.outcome, x: place * WIDTH, y: HEIGHT - high, width: WIDTH - 2, height: high, rx: 1 })) bar.setAttribute(name, value);
    const title = document.createElementNS(SVG, "title");
    title.textContent = `Run ${run.number}: ${run.outcome === "failed" ? "failed" : "succeeded"} after ${durationWords(run.seconds)}, ${timeWords(run.started)}`;
    bar.append(title);
    svg.append(bar);
  });
  return svg;
}

function scenariosOf({ rows, total }) {
  return [
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Newest scenarios" }, scenarioTable("The newest scenarios", h("tbody", {}, rows.map(scenarioRow)))),
    h("p", {}, h("a", { href: "#/scenarios", "data-key": "all" }, total === 1 ? "All scenarios: 1" : `All ${total} scenarios`))];
}

function choices() {
  const trouble = h("div");
  const sample = h("button", { type: "button", class: "beginning" }, h("b", {}, "Sample scenario"), h("span", {}, "A remark on Polkadot that moves nothing, to look around."));
  sample.addEventListener("click", async () => {
    try {
      const flow = { name: "Sample", steps: [{ type: "Remark", chain: "polkadot", text: "Hello from scenarioctl" }] };
      const { result } = await post("/api/create/flow", { flow, syntax: "json" });
      location.hash = scenarioLink(result).slice(1);
    } catch (error) {
      fill(trouble, problemOf(error));
    }
  });
  const choice = (href, title, text) => h("a", { class: "beginning", href }, h("b", {}, title), h("span", {}, text));
  return [
    h("p", {}, "No scenarios yet. A scenario is a transaction, or several, that you prepare here and sign with your wallet."),
    h("div", { class: "beginnings" },
      choice("#/new/transfer", "Transfer", "Send tokens on a chain, or from one chain to another."),
      choice("#/new/swap", "Swap", "Trade one token for another on Hydration."),
      choice("#/import", "Import", "Bring a share link, a diagram or a flow file."),
      sample),
    trouble];
}
