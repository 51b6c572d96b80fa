// What to do next with a scenario: one primary button that fits its state, and what else can be done beside it.

import { post } from "./api.js";
import { fill, h, problemOf, say } from "./dom.js";
import { approvalsOf } from "./known.js";
import { isPaid, sentFor, sentLink, sentSince } from "./sent.js";
import { plain } from "./words.js";

// Steps of these types need no run: the page drafts their transactions itself.
const WITHOUT_RUN = new Set(["chain", "action", "payout"]);

// Hears of `drafted({rows, count})`, the transactions and how many of them can be signed as one (of null while they
// are drafted, of no rows if they can't be), and of `told(status, again)` of the job, null without one: `again()` runs it once.
export function nextStep(scenario, signal) {
  const { id } = scenario;
  const main = h("div", { class: "actions" });
  const words = h("p", { class: "hint" });
  const trouble = h("div");
  const element = h("div", { class: "next", role: "group", "aria-label": "Next step", "aria-live": "polite" }, main, words, trouble);
  const edit = h("a", { class: "button quiet", href: `#/edit/${encodeURIComponent(id)}` }, "Edit");
  const copy = h("a", { class: "button quiet", href: `#/duplicate/${encodeURIComponent(id)}` }, "Duplicate");
  let transactions = null;
  let job;
  let newest = null;
  let runAgain;
  let heard = 0;
  let said = null;

  const link = (label, href) => h("a", { class: "button", href }, label);
  const sign = (more, label = "Sign and send") => link(label, `#/sign/?${new URLSearchParams({ scenario: id, ...more })}`);

  // Returns the buttons, the primary one first, and a sentence beside them.
  function choose() {
    if (!scenario.nodes.length) return [[link("Add a step", edit.getAttribute("href"))], ""];
    const wrong = scenario.problems.filter(({ waiting }) => !waiting).length;
    const rows = transactions.rows.filter(({ error }) => !error);
    const open = rows.filter(({ node = "" }) => !sentFor(scenario.sent, node).some(isPaid));
    const signing = rows.length === 1 && sign(rows[0].node ? { node: rows[0].node } : {}, open.length ? undefined : "Sign again");
    if (wrong) return [[link(wrong === 1 ? "Fix the problem" : `Fix ${wrong} problems`, edit.getAttribute("href")), signing], rows.length ? "" : "Nothing can be signed before."];
    const isExpired = newest?.state === "expired";
    const draft = newest && (isExpired ? h("button", { type: "button", onclick: runAgain }, "Make a new one") : link("Sign the newest draft", `#/sign/?${new URLSearchParams({ job: id, draft: newest.seq })}`));
    if (job?.state === "paused") return [[h("button", { type: "button", onclick: resume }, "Resume job"), draft || signing], job.reason ? `The job is paused: ${plain(job.reason)}` : "The job is paused."];
    if (draft) return [[draft], isExpired ? "The newest draft has expired. This runs the job once more now." : "The job drafted it. It was not sent from here yet."];
    if (job?.state === "running") return [[null, signing], "The job is running. Its drafts are signed one by one."];
    if (job && (scenario.problems.length || scenario.nodes.some(({ type }) => !WITHOUT_RUN.has(type)))) {
      return [[h("button", { type: "button", onclick: start }, "Start job"), signing], "Only a run does all of its steps. Transactions are drafted for you to sign."];
    }
    // Whoever it was made for may have approved it already.
    if (!rows.length && scenario.acting?.layers.some(({ threshold }) => threshold > 1)) return [[link("Waiting approvals", approvalsOf(scenario.acting.name))], ""];
    const paid = scenario.sent.filter(isPaid);
    // A payout that was sent isn't drafted again.
    if (!rows.length && !paid.length) return [[null], ""];
    if (!open.length) {
      const [{ chain, hash }] = paid;
      return [[link("See what became of it", sentLink(chain, hash, { scenario: id })), signing], "It was sent from here."];
    }
    if (transactions.count && open.length === rows.length) return [[sign({ batch: "all" }, "Sign as one transaction")], `One signature for all ${transactions.count}: the chain does all of them, or none.`];
    if (rows.length === 1) return [[signing], ""];
    return [[sign({ node: open[0].node })], `Transaction ${rows.indexOf(open[0]) + 1} of ${rows.length}. Each is signed and sent by itself, in this order.`];
  }

  function show() {
    // Before both are known, a button could turn into another one under a finger.
    if (!transactions || job === undefined) return;
    const [[primary, ...others], sentence] = choose();
    primary?.classList.add("primary");
    const now = [primary, ...others].map((each) => each && each.outerHTML).join() + sentence;
    if (now === said) return;
    said = now;
    const focused = main.contains(document.activeElement);
    fill(main, primary, others, primary?.getAttribute("href") !== edit.getAttribute("href") && edit, copy);
    words.textContent = sentence;
    words.hidden = !sentence;
    if (focused) main.firstElementChild.focus();
  }

  async function resume({ target }) {
    target.disabled = true;
    fill(trouble);
    try {
      say((await post("/job/resume", { id })).result);
    } catch (error) {
      if (!signal.aborted) fill(trouble, problemOf(error));
    } finally {
      target.disabled = false;
    }
  }

  function start() {
    const place = document.querySelector("[aria-labelledby=job] .scheduling:not([hidden])");
    if (!place) return;
    place.open = true;
    place.scrollIntoView({ block: "center" });
    place.querySelector("[name=repeat]").focus({ preventScroll: true });
  }

  // The newest draft, if it can or could be signed, and neither it nor another transaction in its place was sent since.
  async function unsent() {
    if (!job || job.state === "stopped" || !job.runs) return null;
    const { mempool: [row] } = await post("/scenario/tx", { id, tail: "1" }, signal);
    return row?.spec_version !== undefined && !row.flag && !row.sent && !sentSince(scenario.sent, row).some(isPaid) ? row : null;
  }

  async function told(status, again) {
    // A job whose state can't be read now is still as it was.
    if (status === null && job) return;
    const number = ++heard;
    job = status;
    runAgain = again;
    const found = await unsent().catch(() => null);
    if (signal.aborted || number !== heard) return;
    newest = found;
    show();
  }

  function drafted(found) {
    transactions = found;
    if (found) show();
    else if (!main.childElementCount) fill(main, h("p", { class: "hint" }, "Drafting…"));
  }

  return { element, drafted, told };
}
