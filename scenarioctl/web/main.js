// The page: its routes, the token dialog, and the banner during an outage of the daemon.

import { onGone, onToken, Refusal, setGone, watch } from "./api.js";
import { dialog } from "./dialog.js";
import { empty, h, problemOf, say } from "./dom.js";
import { homeView } from "./home.js";
import { sentenceOf } from "./words.js";

const main = document.getElementById("main");
let leave = new AbortController();
let first = true;

// Each view but the first is loaded when somebody opens it: a row has its pattern, its module, and its view of what
// the pattern found.  The first row has the form of the web editor's links: `#/create/?diagramData=ID`.
/** @type {[RegExp, () => Promise<any>, (module: any, ...found: any[]) => any][]} */
const ROUTES = [
  [/^\/create\/?\?(?:.*&)?diagramData=([^&]+)/, () => import("./scenario.js"), (module, signal, id) => module.scenarioView(readId(id), signal)],
  [/^\/new\/(transfer|swap|remark|flow)$/, () => import("./editor.js"), (module, signal, kind) => module.newView(kind, signal)],
  [/^\/edit\/([^/?]+)$/, () => import("./editor.js"), (module, signal, id) => module.editView(readId(id), signal)],
  [/^\/duplicate\/([^/?]+)$/, () => import("./editor.js"), (module, signal, id) => module.duplicateView(readId(id), signal)],
  [/^\/sign\/?\?(.*)$/, () => import("./signing.js"), (module, signal, query) => module.signView(new URLSearchParams(query), signal)],
  [/^\/tx\/?\?(.*)$/, () => import("./transaction.js"), (module, signal, query) => module.sentView(new URLSearchParams(query), signal)],
  [/^\/import$/, () => import("./import.js"), (module, signal) => module.importView(signal)],
  [/^\/history\/?(?:\?(.*))?$/, () => import("./history.js"), (module, signal, query) => module.historyView(new URLSearchParams(query), signal)],
  [/^\/accounts$/, () => import("./address_book.js"), (module, signal) => module.accountsView(signal)],
  [/^\/multisig\/([^/?]+)$/, () => import("./multisig.js"), (module, signal, name) => module.multisigView(readId(name), signal)],
  [/^\/scenarios$/, () => import("./scenarios.js"), (module, signal) => module.scenariosView(signal)],
  [/^\/?$/, async () => ({ homeView }), (module, signal) => module.homeView(signal)],
];

function readId(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error(`This link is damaged: ${text} cannot be the id of a scenario. Copy the link again.`);
  }
}

async function show() {
  const hash = location.hash.slice(1);
  leave.abort();
  leave = new AbortController();
  const { signal } = leave;
  const found = ROUTES.map(([pattern, ...rest]) => [hash.match(pattern), ...rest]).find(([match]) => match);
  let view;
  try {
    view = found ? await opened(signal, ...found) : notFound(hash);
  } catch (error) {
    if (signal.aborted) return;
    view = h("section", {}, h("h1", { tabindex: "-1" }, "Something went wrong"), problemOf(error),
      h("div", { class: "actions" }, error.status !== 404 && h("button", { type: "button", onclick: show }, "Try again"), h("a", { class: "button", href: "#/" }, "Go home")));
    if (error.code === "gone") onGone((gone) => { if (!gone) show(); }, signal);
  }
  if (signal.aborted) return;
  main.replaceChildren(view);
  const heading = main.querySelector("h1");
  document.title = heading ? `${heading.textContent} – scenarioctl` : "scenarioctl";
  // A new view takes the focus to its heading; a page that was just opened keeps it at the top.
  if (!first) heading?.focus({ preventScroll: true });
  first = false;
  scrollTo(0, 0);
  for (const link of document.querySelectorAll("nav a")) {
    if (link.getAttribute("href") === `#${hash || "/"}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

async function opened(signal, match, load, view) {
  // On a slow network, the next view is not there at once.
  const skeleton = setTimeout(() => {
    // A module that was slow to load must not hide the view that somebody went to meanwhile.
    if (!signal.aborted) main.replaceChildren(h("section", { class: "skeleton", "aria-busy": "true" }, h("p", { class: "offscreen" }, "Loading…"), h("div"), h("div"), h("div")));
  }, 150);
  try {
    return await view(await load().catch(notLoaded), signal, ...match.slice(1));
  } finally {
    clearTimeout(skeleton);
  }
}

// Browsers may not try again to load a module that could not be loaded, but they do when the page is loaded anew.
function notLoaded() {
  setGone("daemon");
  onGone((gone) => { if (!gone) location.reload(); });
  throw new Refusal("The daemon is not responding. This page loads again when the daemon is back.", "gone", 0, {});
}

function notFound(hash) {
  return h("section", {}, h("h1", { tabindex: "-1" }, "Page not found"), empty(`There is no page at ${hash}.`, ["#/", "Go home"], ["#/scenarios", "Scenarios"]));
}

const OUTAGES = {
  daemon: "The daemon is not responding. This page tries again every second.",
  store: "The daemon can't use its store at the moment. Nothing is saved. This page tries again every second.",
};

onGone((gone) => {
  const banner = document.getElementById("gone");
  banner.hidden = !gone;
  banner.textContent = OUTAGES[gone] ?? "";
  if (gone) return;
  for (const problem of document.querySelectorAll(".outage")) problem.remove();
  say("Connected again");
});

onToken(async (refused) => {
  const input = h("input", { type: "password", name: "token", id: "token", autocomplete: "off", required: true });
  const isGiven = await dialog("This daemon requires a token", [
    h("p", {}, refused ? "The token is not valid." : "Ask the person who runs the daemon for one."),
    h("div", { class: "field" }, h("label", { for: "token" }, "Token"), input),
    h("p", { class: "hint" }, "The token stays in memory and is lost when you close this page."),
  ], { submit: "Continue" });
  return isGiven ? input.value.trim() : "";
});

addEventListener("hashchange", show);
const menu = document.querySelector(".menu");
// It closes with a choice, with a press or the focus elsewhere, and with Escape.
addEventListener("click", ({ target }) => { if (!menu.contains(/** @type {Node} */ (target)) || target.closest("a")) menu.open = false; });
menu.addEventListener("focusout", ({ relatedTarget: to }) => { if (to && !menu.contains(to)) menu.open = false; });
menu.addEventListener("keydown", ({ key }) => {
  if (key !== "Escape") return;
  menu.open = false;
  menu.firstElementChild.focus();
});
document.querySelector(".skip").addEventListener("click", (event) => {
  // The address names the view, so it must stay as it is.
  event.preventDefault();
  main.focus();
});
const dropping = (is) => document.documentElement.classList.toggle("dropping", is);
addEventListener("dragover", (event) => {
  event.preventDefault();
  dropping(true);
});
addEventListener("dragleave", (event) => { if (!event.relatedTarget) dropping(false); });
addEventListener("drop", async (event) => {
  event.preventDefault();
  dropping(false);
  const [file] = event.dataTransfer.files;
  const text = file ? await file.text() : event.dataTransfer.getData("text");
  if (text) await taken(text);
});
addEventListener("paste", async (event) => {
  if (event.target.closest?.("input, textarea, select")) return;
  const text = event.clipboardData.getData("text").trim();
  // Only a share string, a link, a diagram or a flow file.
  if (text.startsWith("{") || /^\s*\[\[\s*steps\s*\]\]/m.test(text) || /^[A-Za-z0-9+/=_-]{40,}$/.test(text) || /^https?:\/\//.test(text)) await taken(text);
});

async function taken(text) {
  try {
    const { importText } = await import("./import.js");
    await importText(text);
  } catch (error) {
    say(sentenceOf(error));
  }
}

show();
watch();
