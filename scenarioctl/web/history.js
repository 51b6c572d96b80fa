// What was sent from here: a list with filters, and a table for accountants.

import { get, onGone } from "./api.js";
import { empty, field, fill, h, problemOf, say, selection, values } from "./dom.js";
import { account as shown, amount, sentence } from "./format.js";
import { accountOf, chainName, chains } from "./known.js";
import { sentLink } from "./sent.js";

const PAGE = 50;
// Rows of the table that are asked for at a time.
const TABLE = 1000;
const STATES = [["", "All"], ["finalized", "Finalized"], ["in-block", "In a block"], ["sent", "Sent, in no block yet"], ["uncertain", "Perhaps sent"], ["expired", "Expired"]];
const NAMES = ["account", "chain", "scenario", "state", "since", "until"];

const sums = (amounts) => amounts.map(({ human, value, asset }, at) => [at > 0 && " + ", amount(human ?? `${value} (smallest unit of ${asset})`, human ? value : "")]);

// What was done, in a word or two: the beginning of the sentence in the past.
/** @type {[RegExp, string][]} */
const DEEDS = [
  [/^opens|opens an operation/i, "Opened"], [/enough of .* have approved|and the call runs/i, "Approved and ran"], [/approves/i, "Approved"], [/cancels/i, "Canceled"],
  [/^(sells|swaps|buys)/i, "Swapped"], [/^(teleports|sends|transfers|moves)/i, "Sent"], [/^pays/i, "Paid"], [/^writes/i, "Wrote a remark"], [/^(runs|does) /i, "Ran"], [/^claims/i, "Claimed"],
];
const deedOf = (says) => DEEDS.find(([pattern]) => pattern.test(says))?.[1] ?? "Sent a transaction";

const TONES = { failed: "failed", finalized: "done", "in-block": "now", sent: "now", uncertain: "unknown", expired: "" };
const toneOf = ({ success, state }) => (success === false ? TONES.failed : TONES[state] ?? "");

function row(sent) {
  const { chain, hash, scenario, name, says, outcome, left, spent = [], received, account } = sent;
  const gone = [...(left ?? []), ...spent];
  const got = received.filter((each) => accountOf(each.account) === accountOf(account));
  const others = [...new Map(received.filter((each) => !got.includes(each) && !each.system).map((each) => [each.account, each])).values()];
  return h("li", {},
    h("span", { class: `dot ${toneOf(sent)}`, "aria-hidden": "true" }),
    h("div", {},
      h("p", {}, h("a", { href: sentLink(chain, hash, scenario && { scenario }) }, deedOf(says)), name && [" ", h("bdi", { class: "hint" }, name)]),
      h("p", { class: "hint" }, clock.format(Date.parse(sent.sent)), " · ", chainName(chain), " · ", outcome),
      account && h("p", { class: "hint" }, "From ", shown(account), others.length === 1 && [" to ", shown(others[0].account)], others.length > 1 && ` to ${others.length} accounts`),
      says && h("p", { class: "hint says" }, sentence(says))),
    h("div", { class: "sums" },
      gone.length > 0 && h("p", { class: "sum" }, "−", sums(gone)),
      got.length > 0 && h("p", { class: "sum right" }, "+", sums(got))));
}

const clock = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const dayWords = new Intl.DateTimeFormat("en", { weekday: "long", day: "numeric", month: "long", year: "numeric" });

function dayOf(iso) {
  const day = (date) => dayWords.format(date);
  if (day(Date.parse(iso)) === day(Date.now())) return "Today";
  return day(Date.parse(iso)) === day(Date.now() - 86_400_000) ? "Yesterday" : day(Date.parse(iso));
}

// The transactions under the day on which they were sent.
function days(transactions) {
  const groups = new Map();
  for (const each of transactions) groups.set(dayOf(each.sent), [...(groups.get(dayOf(each.sent)) ?? []), each]);
  return [...groups].map(([day, rows]) => h("li", {}, h("h2", {}, day), h("ul", { class: "rows" }, rows.map(row))));
}

// `#/history?scenario=…`: the filters may stand in the address.
export async function historyView(query, signal) {
  const list = h("ul", { class: "history", "aria-label": "Sent transactions, newest first" });
  const count = h("div", { class: "hint", role: "status" });
  const trouble = h("div");
  const older = h("button", { type: "button", hidden: true }, "Older");
  const newest = h("button", { type: "button", hidden: true }, "Newest");
  const download = h("button", { type: "button" }, "Download CSV");
  const given = (name) => query.get(name) ?? "";
  const filter = h("form", { class: "filters", role: "search", onsubmit: (event) => event.preventDefault() },
    field("account", "Account", { value: given("account") }),
    selection("chain", "Chain", [["", "All"], ...(await chains()).map(({ name, title }) => [name, title])], given("chain")),
    selection("state", "State", STATES, given("state")),
    field("since", "From", { type: "date", value: given("since") }),
    field("until", "Until", { type: "date", value: given("until") }));
  const filters = h("details", { class: "filtering", open: NAMES.some((name) => name !== "scenario" && given(name)) }, h("summary", { class: "button quiet" }, "Filter"), filter);
  let next = "";
  let asked = 0;

  function wanted() {
    /** @type {Record<string, string>} */
    const found = { scenario: given("scenario"), ...values(filter) };
    // The last day counts, in the time zone of the reader.
    if (found.since) found.since = new Date(`${found.since}T00:00`).toISOString();
    if (found.until) {
      const end = new Date(`${found.until}T00:00`);
      end.setDate(end.getDate() + 1);
      found.until = end.toISOString();
    }
    return Object.fromEntries(NAMES.filter((name) => found[name]).map((name) => [name, found[name]]));
  }

  async function load(after) {
    const number = ++asked;
    const fields = wanted();
    const page = await get("/api/tx/list", { ...fields, limit: PAGE, after }, signal);
    // An answer to an earlier filter must not overwrite this one.
    if (number !== asked) return;
    // One page stands here at a time.
    fill(list, days(page.transactions));
    next = page.next ?? "";
    older.hidden = !next;
    newest.hidden = !after;
    download.hidden = !page.total;
    const isAll = !Object.keys(fields).length;
    filters.hidden = isAll && !page.total;
    fill(count, page.total === 1 ? "1 transaction" : page.total ? `${page.total} transactions`
      : isAll ? empty("Nothing was sent from here yet. Prepare a transfer, and sign it with your wallet.", ["#/new/transfer", "New transfer"], ["#/scenarios", "Scenarios"]) : "No transaction matches.");
    fill(trouble);
  }

  const tell = (error) => { if (!signal.aborted) fill(trouble, problemOf(error)); };
  let timer;
  const again = () => { clearTimeout(timer); timer = setTimeout(() => load("").catch(tell), 150); };
  filter.addEventListener("input", again);
  older.addEventListener("click", () => load(next).then(() => scrollTo(0, 0)).catch(tell));
  newest.addEventListener("click", () => load("").catch(tell));
  download.addEventListener("click", async () => {
    download.disabled = true;
    try {
      const parts = [];
      let after = "";
      do {
        const page = await get("/api/tx/list", { ...wanted(), limit: TABLE, after, csv: "true" }, signal);
        parts.push(page.csv);
        after = page.next ?? "";
      } while (after);
      const link = h("a", { href: URL.createObjectURL(new Blob(parts, { type: "text/csv" })), download: "transactions.csv" });
      link.click();
      URL.revokeObjectURL(link.href);
      say("Downloaded transactions.csv");
    } catch (error) {
      tell(error);
    } finally {
      download.disabled = false;
    }
  });
  onGone((gone) => { if (!gone) again(); }, signal);
  await load("").catch(tell);
  return h("section", {},
    h("h1", { tabindex: "-1" }, "History"),
    given("scenario") && h("p", {}, "Of one scenario. ", h("a", { href: "#/history" }, "Show all")),
    filters, trouble, count, list, h("div", { class: "actions" }, newest, older, download));
}
