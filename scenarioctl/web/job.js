// The job of a scenario: its state, its schedule, and what can be done with it.

import { follow, onGone, post } from "./api.js";
import { confirmed } from "./dialog.js";
import { fill, h, problemOf, say } from "./dom.js";
import { when } from "./format.js";
import { runsPart } from "./runs.js";
import { scheduleForm } from "./schedule.js";
import { plain, scheduleWords } from "./words.js";

// `told(status, again)` hears of the state of the job whenever it is read, and of null if it can't be read; `again()` runs it once.
export function jobPart(scenario, signal, told) {
  const { id } = scenario;
  const section = h("section", { class: "card", "aria-labelledby": "job" }, h("h2", { id: "job" }, "Runs"));
  const state = h("p", { class: "state", role: "status" });
  const trouble = h("div");
  const refused = h("div");
  const again = () => once.click();
  const runs = runsPart(id, again, signal);

  async function refresh() {
    try {
      const status = await post("/job/status", { id }, signal);
      fill(state, words(status));
      fill(trouble);
      told(status, again);
      start.hidden = status.state !== "stopped";
      change.hidden = status.state !== "running";
      pause.hidden = status.state !== "running";
      resume.hidden = status.state !== "paused";
      stop.hidden = status.state === "stopped";
      await runs.refresh(status);
    } catch (error) {
      if (signal.aborted) return;
      told(null);
      if (error.code === "not_found" && error.status === 404 && !error.body.field) {
        fill(section, h("h2", { id: "job" }, "Runs"), h("p", { class: "hint" }, "The job worker is not available at this address."));
        return;
      }
      fill(trouble, problemOf(error, refresh));
    }
  }

  const scheduling = (summary, label) => {
    const place = h("details", { class: "scheduling" }, h("summary", { class: "button quiet" }, summary), scheduleForm(label, async (given) => {
      say((await post("/job/start", { id, ...given })).result);
      place.open = false;
      await refresh();
    }));
    return place;
  };
  const start = scheduling("Schedule…", "Start");
  const change = scheduling("Change schedule…", "Change");

  /** @param {string} label @param {string} path @param {() => any} asked */
  function button(label, path, asked = () => true) {
    const element = h("button", { type: "button", hidden: true }, label);
    element.addEventListener("click", async () => {
      if (!await asked()) return;
      fill(refused);
      element.disabled = true;
      try {
        say((await post(path, { id })).result);
      } catch (error) {
        if (!signal.aborted) fill(refused, problemOf(error));
      } finally {
        element.disabled = false;
        await refresh();
      }
    });
    return element;
  }
  const pause = button("Pause", "/job/pause");
  const resume = button("Resume", "/job/resume");
  const stop = button("Stop", "/job/stop", () => confirmed("Stop this job?", "It runs no more until you start it again. A run in progress may end.", "Stop"));
  // The answer of a run comes at its end, and may be an error that its log has too.
  const once = h("button", { type: "button" }, "Run now");
  once.addEventListener("click", async () => {
    fill(refused);
    once.disabled = true;
    once.textContent = "Running…";
    try {
      await post("/job/run", { id });
      say("The run has ended.");
    } catch (error) {
      if (!signal.aborted) fill(refused, problemOf(error));
    } finally {
      once.disabled = false;
      once.textContent = "Run now";
      await refresh();
    }
  });

  section.append(h("div", { class: "split" }, state, h("div", { class: "actions" }, once, pause, resume, stop)), start, change, refused, trouble, runs.element);

  refresh();
  let soon;
  // The stream tells of each line as it is written; some lines are the end of a run.
  follow("/job/events", { id, tail: runs.tail }, (kind, data) => {
    if (kind === "log") runs.add(data);
    if (kind === "restart") runs.restart();
    // Many lines come at once; one request for the state follows them, also while there is no end of them.
    soon ??= setTimeout(() => {
      soon = undefined;
      if (!signal.aborted) refresh();
    }, 300);
  }, signal).catch((error) => { if (!signal.aborted && error.status !== 404) fill(trouble, problemOf(error)); });
  onGone((gone) => { if (!gone) refresh(); }, signal);
  return section;
}

// "webhook 6f1c…" is what a webhook's step waits for, "delay 60 s" a pause.
function waitOf(step) {
  const [kind, what] = step.split(" ");
  return kind === "webhook" ? ["a POST to ", h("code", {}, `/webhook/${what}`)] : step.replace("delay", "its delay of");
}

function words(status) {
  const parts = [];
  if (status.schedule) parts.push(scheduleWords(status.schedule));
  if (status.executing) parts.push(["a run is in progress", status.step_number && [`: step ${status.step_number} waits for `, waitOf(status.step), " until ", when(status.until)]]);
  if (status.next && !status.step_number) parts.push(["next run ", when(status.next)]);
  if (status.last) parts.push([status.outcome === "failed" ? "last run failed, started " : "last run started ", when(status.last)]);
  if (status.runs) parts.push(`${status.runs} ${status.runs === 1 ? "run" : "runs"}`);
  // Why it is paused, or why the last run failed; a pause that somebody asked for is no problem.
  if (status.reason) parts.push(h("span", { class: status.failures ? "problem" : null }, plain(status.reason)));
  const name = status.state === "stopped" ? "not running" : status.state;
  return [h("strong", { class: `badge ${status.state}` }, name), parts.map((part, at) => [at ? ", " : " ", part])];
}
