// The home: what needs somebody, the chains, the jobs, the newest scenarios.  All of it comes with one answer.

import { get, post } from "./api.js";
import { ageWords, chainPart, unreachable } from "./chain_state.js";
import { fill, h, problemOf, say } from "./dom.js";
import { amount, durationWords, sentence, timeWords, when } from "./format.js";
import { chainName, nameChains } from "./known.js";
import { nameOf, scenarioLink, scenarioRow, scenarioTable } from "./scenario_rows.js";
import { waiting } from "./signed.js";
import { s } from "./svg.js";
import { capital, plain, scheduleWords, sentenceOf, stepTitle } from "./words.js";

// How often the daemon is asked; silence for longer means that what is shown may be old.
const PAUSE = 6_000;
const SILENCE = 25_000;

export function homeView(signal) {
  const strip = h("ul", { class: "strip", "aria-label": "Daemon and chains" });
  const top = { place: strip };
  const stale = h("p", { class: "notice", role: "status", hidden: true });
  const needs = part("needs", "Needs you");
  const jobs = part("jobs", "Jobs");
  const scenarios = part("scenarios", "Scenarios");
  const trouble = h("div");
  const signed = { place: h("section", { "aria-labelledby": "signed" }) };
  const view = h("section", { class: "home", "aria-busy": "true" },
    h("h1", { tabindex: "-1" }, "Home"), stale, trouble, signed.place, needs.section, jobs.section, scenarios.section, strip);
  let status = null;
  let chains = [];
  let heard = Date.now();
  const drawSigned = () => {
    const found = waiting().map((each) => ({ ...each, isOver: chains.some(({ name, block }) => name === each.chain && each.until > 0 && block > each.until) }));
    signed.place.hidden = !found.length;
    draw(signed, found, signatures);
  };
  drawSigned();

  function tell(data) {
    heard = Date.now();
    stale.hidden = true;
    view.classList.remove("stale");
    fill(trouble);
    status = data;
    ({ chains } = data);
    nameChains(chains);
    drawSigned();
    view.removeAttribute("aria-busy");
    document.title = `${status.needs.count ? `(${status.needs.count}) ` : ""}Home – scenarioctl`;
    const isEmpty = !status.scenarios;
    jobs.section.hidden = scenarios.heading.hidden = isEmpty;
    needs.section.hidden = isEmpty && !status.needs.count;
    // Without any needs, a line says so.
    needs.heading.hidden = !status.needs.count;
    needs.heading.textContent = status.needs.count === 1 ? "1 thing needs you" : `${status.needs.count} things need you`;
    draw(needs, [status.needs, chains.map(({ title }) => title)], () => needsOf(status.needs));
    draw(jobs, { jobs: status.jobs, total: status.jobs_total }, jobsOf);
    draw(scenarios, isEmpty ? null : { rows: status.recent, total: status.scenarios }, isEmpty ? choices : scenariosOf);
    draw(top, [status.version, status.offline, status.worker, status.workers, chains], () => stripOf(status, chains));
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
  async function ask() {
    try {
      tell(await get("/api/status", {}, signal));
    } catch (error) {
      // Later, the age of what is shown tells it.
      if (!signal.aborted && !status) fill(trouble, problemOf(error));
    }
    if (!signal.aborted) setTimeout(ask, PAUSE);
  }
  ask();
  return view;
}

// What was signed in this browser and is not sent yet; `isOver` says that it is too late for it.
function signatures(found) {
  return found.length > 0 && [h("h2", { id: "signed" }, "Signed here, not sent"),
    h("ul", { class: "rows" }, found.map(({ source, hash, says, sending, isOver }) => h("li", { class: "need split" },
      h("p", {}, h("span", { class: `badge ${sending ? "unknown" : isOver ? "" : "wanted"}` }, sending ? "Perhaps sent" : isOver ? "Expired" : "Not sent"), " ", says ? sentence(capital(says)) : h("code", {}, `${hash.slice(0, 18)}…`)),
      h("a", { class: "button primary", href: `#/sign/?${source}`, "data-key": `signed ${hash}` }, isOver && !sending ? "Make a new one" : "Go on to send it"))))];
}

function part(id, title) {
  const place = h("div", {}, h("div", { class: "skeleton" }, h("div")));
  const heading = h("h2", { id }, title);
  return { place, heading, section: h("section", { "aria-labelledby": id }, h("div", { role: "status" }, heading), place) };
}

// Draws what has changed, and leaves the focus, and what is open, where it was.
function draw(where, data, drawn) {
  const said = JSON.stringify(data);
  if (where.said === said) return;
  where.said = said;
  const key = where.place.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  const open = [...where.place.querySelectorAll("details[open][data-key]")].map(({ dataset }) => dataset.key);
  const find = (each) => where.place.querySelector(`[data-key="${CSS.escape(each)}"]`);
  fill(where.place, drawn(data));
  for (const each of open) find(each)?.setAttribute("open", "");
  if (key) find(key)?.focus({ preventScroll: true });
}

function stripOf(status, chains) {
  const away = chains.filter(({ state }) => state === "unreachable");
  return [
    h("li", {}, h("b", {}, `scenarioctl ${status.version}`), status.offline ? " offline" : ""),
    h("li", { class: status.worker ? "right" : "doubt" }, h("b", {}, "Worker"), status.worker ? " running" : " not running: jobs wait for one"),
    status.workers.map((worker) => h("li", { class: worker.silent ? "doubt" : "" }, h("b", {}, worker.host), " ", workerWords(worker))),
    chains.filter((each) => !away.includes(each)).map(chainPart),
    unreachable(away),
  ];
}

function workerWords({ version, clock_offset: offset, last_seen: seen, silent, running }) {
  return [
    version && `${version}, `, running === 1 ? "1 run" : `${running} runs`,
    Math.abs(offset ?? 0) >= 0.25 && `, clock ${Math.abs(offset).toFixed(1)} s ${offset > 0 ? "ahead" : "behind"}`,
    silent && [", heard from ", h("span", { "data-since": seen }, ageWords(seen))],
  ];
}

function needsOf(needs) {
  if (!needs.count) return h("p", { class: "hint" }, "Nothing needs you.");
  return h("ul", { class: "rows" },
    needs.sign.map(toSign), more(needs.sign_total - needs.sign.length, "to sign"),
    needs.paused.map((job) => inNeed(job, "paused", "Paused")), more(needs.paused_total - needs.paused.length, "paused"),
    needs.failing.map((job) => inNeed(job, "failing", job.failures === 1 ? "Failed" : `Failed ${job.failures} times`)), more(needs.failing_total - needs.failing.length, "failing"));
}

function more(count, what) {
  return count > 0 && h("li", { class: "hint" }, `And ${count} more ${what}.`);
}

function titled(row, kind) {
  return h("a", { href: scenarioLink(row.id), "data-key": `${kind} ${row.id}` }, nameOf(row));
}

function toSign(row) {
  const others = row.drafts - 1;
  return h("li", { class: "need split" },
    h("div", {},
      h("p", {}, h("span", { class: row.expiring ? "badge doubt" : "badge wanted" }, row.expiring ? "Expires soon" : "To sign"), " ", titled(row, "draft")),
      h("p", { class: "hint" },
        row.human ? [amount(row.human, row.amount), " on "] : `${stepTitle(row.txType)} on `, chainName(row.chain), ", expires ", when(row.expires),
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
        say(sentenceOf(error));
      }
    },
  }, "Resume");
  return h("li", { class: "need split" },
    h("div", {},
      h("p", {}, h("span", { class: `badge ${kind}` }, word), " ", titled(job, kind), " ", h("span", { class: "hint" }, when(job.since))),
      job.reason && h("p", { class: kind === "paused" ? "hint" : "problem" }, plain(job.reason) || "The log of its last run says why.")),
    resume);
}

function jobsOf({ jobs, total }) {
  if (!jobs.length) return h("p", { class: "hint" }, "No job yet. Open a scenario to run it on a schedule.");
  return [h("ul", { class: "rows jobs", "aria-label": "Jobs, the running ones first" }, jobs.map(jobRow)), total > jobs.length && h("p", { class: "hint" }, `The first ${jobs.length} of ${total} jobs.`)];
}

function jobRow(job) {
  const state = job.executing ? "executing" : job.state;
  const failing = job.state === "running" && job.runs[0]?.outcome === "failed";
  return h("li", {},
    h("span", { class: `badge ${failing ? "failed" : state}` }, failing ? "failing" : state === "stopped" ? "not running" : state),
    h("div", {},
      h("a", { href: scenarioLink(job.id), "data-key": `job ${job.id}` }, nameOf(job)),
      h("p", { class: "hint" }, [scheduleWords(job.schedule ?? ""), job.step ? `waits for its ${stepTitle(job.step.split(" ")[0]).toLowerCase()}` : "", ].filter(Boolean).join(" · "), job.next && [" · next ", when(job.next)])),
    bars(job.runs));
}

// Runs that have a bar.
const BARS = 30;
const WIDTH = 8;
const HEIGHT = 28;

// A bar for each run, the newest to the right, and an empty one for each that is still to come.
export function bars(runs) {
  const failed = runs.filter(({ outcome }) => outcome === "failed").length;
  const newest = runs[0]?.outcome === "failed" ? "the newest failed" : "the newest succeeded";
  const words = runs.length ? `Last ${runs.length === 1 ? "run" : `${runs.length} runs`}: ${runs.length - failed} succeeded, ${failed} failed, ${newest}` : "No runs yet";
  const shown = [...Array(Math.max(0, BARS - runs.length)).fill(null), ...runs.slice(0, BARS).reverse()];
  return s("svg", { class: "bars", role: "img", "aria-label": words, viewBox: `0 0 ${BARS * WIDTH} ${HEIGHT}`, width: BARS * WIDTH, height: HEIGHT },
    ...shown.map((run, place) => s("rect", { class: run?.outcome ?? "", x: place * WIDTH, y: 0, width: WIDTH - 3, height: HEIGHT, rx: 2.5 },
      ...(run ? [s("title", {}, `Run ${run.number}: ${run.outcome === "failed" ? "failed" : "succeeded"} after ${durationWords(run.seconds)}, ${timeWords(run.started)}`)] : []))));
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
    h("p", { class: "says" }, "No scenarios yet. A scenario is a transaction, or several, that you prepare here and sign with your wallet."),
    h("div", { class: "beginnings" },
      choice("#/new/transfer", "Transfer", "Send tokens on a chain, or from one chain to another."),
      choice("#/new/swap", "Swap", "Trade one token for another on Hydration."),
      choice("#/import", "Import", "Bring a share link, a diagram or a flow file."),
      sample),
    trouble];
}
