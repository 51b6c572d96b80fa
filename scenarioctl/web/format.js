// Times, numbers and accounts as people read them; the exact form is what one sees on hover.

import { copy, h } from "./dom.js";
import { knownName } from "./known.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const dated = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const yeared = new Intl.DateTimeFormat("en", { year: "numeric", month: "short", day: "numeric" });

// The words for a time: "in 5 minutes", "3 hours ago", "14 Nov, 17:05", in the time zone of the reader.
export function timeWords(iso, now = Date.now()) {
  const then = Date.parse(iso);
  const away = then - now;
  const far = Math.abs(away);
  if (far < MINUTE) return away > 0 ? "in less than a minute" : "just now";
  if (far < HOUR) return relative.format(Math.trunc(away / MINUTE), "minute");
  if (far < DAY) return relative.format(Math.trunc(away / HOUR), "hour");
  return far < 300 * DAY ? dated.format(then) : yeared.format(then);
}

// A time that grows older while it is shown.
export function when(iso) {
  if (!iso) return "";
  return h("time", { datetime: iso, title: `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC` }, timeWords(iso));
}

setInterval(() => {
  for (const time of document.querySelectorAll("main time[datetime]")) {
    const words = timeWords(time.dateTime);
    if (time.textContent !== words) time.textContent = words;
  }
}, 10_000);

// "3 minutes", "1 hour 20 minutes": of a number of seconds.
export function durationWords(seconds) {
  const whole = Math.round(seconds);
  if (whole < 1) return "less than a second";
  /** @type {[number, string][]} */
  const parts = [[Math.trunc(whole / 3600), "hour"], [Math.trunc(whole / 60) % 60, "minute"], [whole % 60, "second"]];
  const shown = parts.filter(([count]) => count > 0).slice(0, 2);
  return shown.map(([count, unit]) => `${count} ${unit}${count === 1 ? "" : "s"}`).join(" ");
}

// "1234567.89" becomes "1 234 567.89", with narrow spaces that don't break; what is no number stays as it is.
export function grouped(text) {
  const [, sign, whole, rest] = String(text).match(/^([+-]?)(\d+)((?:\.\d+)?(?: .*)?)$/s) ?? [];
  if (whole === undefined || whole.length < 5) return String(text);
  return `${sign}${whole.replace(/\B(?=(\d{3})+$)/g, "\u202f")}${rest}`;
}

// At most six digits that count, never rounded up; a whole number keeps all of its digits.
function brief(human) {
  const [, whole, part, rest] = human.match(/^(\d+)\.(\d+)(.*)$/s) ?? [];
  if (part === undefined) return human;
  const zeros = whole === "0" ? part.match(/^0*/)[0].length : 0;
  const kept = part.slice(0, whole === "0" ? zeros + 6 : Math.max(0, 6 - whole.length)).replace(/0+$/, "");
  return `${whole}${kept && `.${kept}`}${rest}`;
}

// An amount in whole tokens, with all digits and with what the chain counts on hover.
export function amount(human, raw = "") {
  return exactly(human, raw, brief(human));
}

export function exactly(human, raw = "", short = human) {
  const hint = [short !== human && human, raw && `${raw} in the smallest unit`].filter(Boolean).join(", ");
  return h("span", { class: "amount", title: hint || null }, grouped(short));
}

// An account, the same everywhere: its picture, its name if the address book or the caller knows one, and its address.  A press
// copies the address, unless it is `still`.  `typed` is the form in which somebody gave it, seen on hover.
export function account(address, { typed = "", name = "", still = false } = {}) {
  const named = h("b", { hidden: !name }, `${name} `);
  if (!name) {
    knownName(address).then((found) => {
      named.textContent = `${found} `;
      named.hidden = !found;
    });
  }
  const hint = [typed && typed !== address && `Given as ${typed}. `, !still && "Copy the address"].filter(Boolean).join("");
  return h(still ? "span" : "button", { class: "account", title: hint || null, ...(!still && { type: "button", onclick: () => copy(address) }) },
    h("img", { src: `/web/identicon/${encodeURIComponent(address)}.svg`, alt: "", width: "24", height: "24" }), named, h("code", {}, address));
}

// An address of 32 bytes in any form; a hash looks like the second.
export const ADDRESSES = /\b[1-9A-HJ-NP-Za-km-z]{46,50}\b/g;

// A sentence in which each address is an account.
export const sentence = (text, still = false) => text.split(new RegExp(`(${ADDRESSES.source})`)).map((part, at) => (at % 2 ? account(part, { still }) : part));
