// Import: a share link, a share string or a diagram's JSON, pasted or dropped.

import { post } from "./api.js";
import { field, form, h, say } from "./dom.js";

export async function importText(text) {
  const { shortUrl } = await post("/api/template/saveUrl", { url: text.trim() });
  say(`Imported as ${shortUrl}`);
  location.hash = `#/create/?diagramData=${encodeURIComponent(shortUrl)}`;
}

export async function importView() {
  return h("section", { class: "narrow" },
    h("h1", { tabindex: "-1" }, "Import a diagram"),
    h("p", {}, "Paste what the web editor shares: a link, its share string, or the diagram's JSON. A file can be dropped anywhere on this page."),
    form("Import", ({ url }) => {
      if (!url) throw new Error("Paste a share link, a share string or JSON first.");
      return importText(url);
    }, field("url", "Diagram", { multiline: true, required: true })));
}
