// The page: its routes, the token dialog, and the banner during an outage of the daemon.

import { onGone, onToken } from "./api.js";
import { h, problemOf, say } from "./dom.js";
import { createView } from "./create.js";
import { importView, importText } from "./import.js";
import { listView } from "./list.js";
import { scenarioView } from "./scenario.js";

const main = document.getElementById("main");
let leave = new AbortController();
let first = true;

// The form of the web editor's links: `#/create/?diagramData=ID`.
const ROUTES = [
  [/^\/create\/?\?(?:.*&)?diagramData=([^&]+)/, (signal, id) => scenarioView(decodeURIComponent(id), signal)],
  [/^\/new\/(transfer|swap|remark)$/, (signal, kind) => createView(kind, signal)],
  [/^\/import$/, (signal) => importView(signal)],
  [/^\/?$/, (signal) => listView(signal)],
];

async function show() {
  const hash = location.hash.slice(1);
  leave.abort();
  leave = new AbortController();
  const { signal } = leave;
  const found = ROUTES.map(([pattern, view]) => [hash.match(pattern), view]).find(([match]) => match);
  let view;
  try {
    view = found ? await found[1](signal, ...found[0].slice(1)) : notFound(hash);
  } catch (error) {
    if (signal.aborted) return;
    view = h("section", {}, h("h1", { tabindex: "-1" }, "Something went wrong"), problemOf(error),
      h("p", {}, h("button", { type: "button", onclick: show }, "Try again")));
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

function notFound(hash) {
  return h("section", {}, h("h1", { tabindex: "-1" }, "Page not found"), h("p", {}, `There is no page at ${hash}. `, h("a", { href: "#/" }, "Go to the scenarios")));
}

onGone((gone) => {
  const banner = document.getElementById("gone");
  banner.hidden = !gone;
  banner.textContent = gone ? "The daemon is not responding. Trying again every 2 seconds." : "";
  if (gone) return;
  for (const problem of document.querySelectorAll(".outage")) problem.remove();
  say("Connected again");
});

onToken((refused) => new Promise((settle) => {
  const input = h("input", { type: "password", name: "token", id: "token", autocomplete: "off", required: true });
  const dialog = h("dialog", { "aria-labelledby": "token-title" },
    h("form", { method: "dialog" },
      h("h2", { id: "token-title" }, "This daemon requires a token"),
      h("p", {}, refused ? "The token is not valid." : ["Its operator creates one with ", h("code", {}, "scenarioctl config token NAME"), "."]),
      h("div", { class: "field" }, h("label", { for: "token" }, "Token"), input),
      h("p", { class: "hint" }, "The token stays in memory and is lost when you close this page."),
      h("div", { class: "actions" },
        h("button", { type: "submit", value: "use", class: "primary" }, "Continue"),
        h("button", { type: "submit", value: "", formnovalidate: true }, "Cancel"))));
  dialog.addEventListener("close", () => {
    const given = dialog.returnValue === "use" ? input.value.trim() : "";
    dialog.remove();
    settle(given);
  });
  document.body.append(dialog);
  dialog.showModal();
}));

addEventListener("hashchange", show);
document.querySelector(".skip").addEventListener("click", (event) => {
  // The address names the view, so it must stay as it is.
  event.preventDefault();
  main.focus();
});
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", async (event) => {
  event.preventDefault();
  const [file] = event.dataTransfer.files;
  const text = file ? await file.text() : event.dataTransfer.getData("text");
  if (text) await taken(text);
});
addEventListener("paste", async (event) => {
  if (event.target.closest?.("input, textarea, select")) return;
  const text = event.clipboardData.getData("text").trim();
  // Only a share string, a link or a diagram.
  if (text.startsWith("{") || /^[A-Za-z0-9+/=_-]{40,}$/.test(text) || /^https?:\/\//.test(text)) await taken(text);
});

async function taken(text) {
  try {
    await importText(text);
  } catch (error) {
    say(error.message);
  }
}

show();
