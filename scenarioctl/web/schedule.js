// When a job runs: presets in the time zone of the reader, their next three times, and what else the daemon takes under Advanced.

import { field, fill, form, h, selection, values } from "./dom.js";
import { DAYS } from "./words.js";

const REPEATS = [["hour", "Every hour"], ["day", "Every day"], ["week", "Every week"], ["month", "Every month"]];
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
const words = new Intl.DateTimeFormat("en", { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

// The cron line of a choice, with each hour at its full hour.
/** @param {Record<string, string>} given */
function cronOf({ repeat, time = "09:00", weekday, monthday }) {
  const [hour, minute] = time.split(":").map(Number);
  return { hour: "0 * * * *", day: `${minute} ${hour} * * *`, week: `${minute} ${hour} * * ${weekday}`, month: `${minute} ${hour} ${monthday || 1} * *` }[repeat];
}

// The next `count` times of a choice, in the time zone of the reader.
/** @param {Record<string, string>} given @param {number} count */
function nextTimes({ repeat, time = "09:00", weekday, monthday }, count) {
  const [hour, minute] = time.split(":").map(Number);
  const at = new Date();
  at.setSeconds(0, 0);
  const found = [];
  if (repeat === "hour") at.setMinutes(0);
  else at.setHours(hour, minute);
  const fits = () => (repeat !== "week" || at.getDay() === Number(weekday)) && (repeat !== "month" || at.getDate() === Number(monthday || 1));
  for (let tries = 0; found.length < count && tries < 400; tries += 1) {
    if (at.getTime() > Date.now() && fits()) found.push(words.format(at));
    if (repeat === "hour") at.setHours(at.getHours() + 1);
    else at.setDate(at.getDate() + 1);
  }
  return found;
}

// The form that starts a job, or changes when it runs; `start(fields)` does it.
export function scheduleForm(label, start) {
  const next = h("p", { class: "hint", role: "status" });
  const time = field("time", "At", { type: "time", value: "09:00" });
  const weekday = selection("weekday", "On", DAYS.map((name, at) => [String(at), name]), "1");
  const monthday = field("monthday", "On day", { type: "number", min: 1, max: 28, value: 1 });
  const parts = [selection("repeat", "Repeat", REPEATS, "day"), weekday, monthday, time];
  const advanced = h("details", {}, h("summary", {}, "Advanced"),
    h("div", { class: "fields" },
      field("every", "Interval", { hint: "For example 30s, 10m or 12h. The first run begins at once." }),
      field("cron", "Cron line", { hint: "Five fields, for example */15 * * * 1-5" })));
  const element = form(label, ({ every, cron, ...given }) => start(every || cron ? { every, cron } : { cron: cronOf(given), timezone: zone }), h("div", { class: "fields" }, parts), next, advanced);
  function show() {
    const given = values(element);
    const typed = given.every || given.cron;
    weekday.hidden = given.repeat !== "week";
    monthday.hidden = given.repeat !== "month";
    time.hidden = given.repeat === "hour";
    for (const part of parts) part.classList.toggle("off", Boolean(typed));
    fill(next, typed ? "Runs as typed under Advanced." : `Next: ${nextTimes(given, 3).join(" · ")} (${zone})`);
  }
  element.addEventListener("input", show);
  show();
  return element;
}
