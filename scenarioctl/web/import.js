// Import: a link, a share string, the JSON of a diagram, a flow file, or the file in which the original API keeps scenarios.

import { post } from "./api.js";
import { field, fill, form, h, mistake, problemOf, say } from "./dom.js";
import { sentenceOf } from "./words.js";

const linkOf = (id) => `#/create/?diagramData=${encodeURIComponent(id)}`;
// An id, and no share string.
const ID = /^[A-Za-z0-9_!@#$*+?-]{1,32}$/;
const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

let bring = null;

// Imports `text`, whatever it is, and opens what came of it.
export async function importText(text) {
  const given = text.replace(/^\ufeff/, "").trim();
  const here = linked(given);
  if (here) {
    location.hash = linkOf(here);
    return;
  }
  const parsed = parse(given);
  if (Array.isArray(parsed?.urls) && !parsed.nodes) {
    await importStore(parsed.urls);
    return;
  }
  if (parsed?.steps !== undefined && !parsed.nodes) {
    await importFlow(given, "json");
    return;
  }
  if (/^\s*(?:\[\[\s*steps\s*\]\]|steps\s*=)/m.test(given) && !given.startsWith("{")) {
    await importFlow(given, "toml");
    return;
  }
  opened(await post("/api/template/saveUrl", { url: given }), "shortUrl");
}

// Stores a flow file; one with mistakes is opened in the editor, which shows all of them.
async function importFlow(text, syntax) {
  try {
    opened(await post("/api/create/flow", { flow: text, syntax }), "result");
  } catch (error) {
    if (error.status !== 422) throw error;
    const { flow } = await post("/api/flow/preview", { flow: text, syntax, format: "svg" });
    const { openFlow } = await import("./editor.js");
    openFlow(flow);
    say(sentenceOf(error));
  }
}

function opened(answer, key) {
  const id = answer[key];
  say(answer.warnings.length ? `Imported as ${id}. Warning: ${answer.warnings.join("; ")}` : `Imported as ${id}`);
  location.hash = linkOf(id);
}

function parse(text) {
  if (!text.startsWith("{")) return null;
  try {
    return JSON.parse(text);
  } catch {
    // The daemon says what is wrong with it.
    return null;
  }
}

// Returns the id in a link to a scenario of this daemon; empty for anything else.
function linked(text) {
  let link;
  try {
    link = new URL(text);
  } catch {
    return "";
  }
  const isHere = link.origin === location.origin || (link.port === location.port && LOOPBACK.has(link.hostname) && LOOPBACK.has(location.hostname));
  const id = new URLSearchParams(link.hash.split("?")[1] ?? "").get("diagramData") ?? link.searchParams.get("diagramData") ?? "";
  return isHere && ID.test(id) ? id : "";
}

// Imports the scenarios of `urls2.json`, each with its id; one that is refused keeps no other out.
async function importStore(entries) {
  if (!bring) {
    // The import view shows how it goes.
    waiting = entries;
    location.hash = "#/import";
    return;
  }
  await bring(entries);
}

let waiting = null;

async function importEntry(entry) {
  const id = entry?.shortUrl;
  // Old versions of the API kept the whole request body.
  const share = typeof entry?.longUrl === "object" ? entry.longUrl?.url : entry?.longUrl;
  if (typeof id !== "string" || !id) throw new Error("It has no id.");
  if (typeof share !== "string") throw new Error("It has no share string.");
  await post("/api/template/saveUrl", { url: share, id });
}

export async function importView(signal) {
  const count = h("p", { role: "status" });
  const refusedList = h("ul", { class: "imported" });
  const doneList = h("ul", { class: "imported" });
  const results = h("section", { hidden: true, "aria-labelledby": "import-results" },
    h("h2", { id: "import-results" }, "Imported scenarios"), count, refusedList, doneList);

  bring = async (entries) => {
    results.hidden = false;
    fill(refusedList);
    fill(doneList);
    let refused = 0;
    for (const [number, entry] of entries.entries()) {
      if (signal.aborted) return;
      count.textContent = `${number + 1} of ${entries.length}`;
      try {
        await importEntry(entry);
        doneList.append(h("li", {}, h("a", { href: linkOf(entry.shortUrl) }, h("code", {}, entry.shortUrl))));
      } catch (error) {
        // Without the daemon, the others would fail too.
        if (error.code === "gone" || error.status === 401 || error.status === 403) throw error;
        refused += 1;
        refusedList.append(h("li", { class: "problem" }, h("code", {}, typeof entry?.shortUrl === "string" ? entry.shortUrl : `Entry ${number + 1}`), ": ", sentenceOf(error)));
      }
    }
    const done = entries.length - refused;
    count.textContent = `${done} of ${entries.length} ${entries.length === 1 ? "scenario is" : "scenarios are"} in the store${refused ? `; ${refused} refused` : ""}.`;
    results.scrollIntoView({ block: "nearest" });
  };
  signal.addEventListener("abort", () => { bring = null; });

  const trouble = h("div");
  const file = h("input", { type: "file", id: "import-file", name: "file", accept: ".json,.toml,.txt", "aria-describedby": "import-file-hint" });
  file.addEventListener("change", async () => {
    const [chosen] = file.files;
    if (!chosen) return;
    fill(trouble);
    try {
      await importText(await chosen.text());
    } catch (error) {
      fill(trouble, problemOf(error));
    }
    file.value = "";
  });
  if (waiting) {
    const entries = waiting;
    waiting = null;
    const run = bring;
    setTimeout(() => run(entries).catch((error) => fill(trouble, problemOf(error))), 0);
  }
  return h("section", { class: "narrow" },
    h("h1", { tabindex: "-1" }, "Import"),
    h("p", {}, "Open a file, or paste a link, a share string, the JSON of a diagram or a flow file. You can also drop a file anywhere on this page."),
    h("div", { class: "field" }, h("label", { for: file.id }, "File"), file,
      h("p", { id: "import-file-hint", class: "hint" }, "A diagram (.json), a flow file (.toml or .json), or urls2.json of a Bagpipes API, whose scenarios keep their ids.")),
    trouble,
    form("Import", ({ url }) => {
      if (!url) throw mistake("url", "There is nothing to import yet. Paste a link, a share string, JSON or a flow file.");
      return importText(url);
    }, field("url", "Link, share string, JSON or flow file", { multiline: true, required: true, "data-names": "flow" })),
    results);
}
