// Import of a share link, a share string or the JSON of a diagram, pasted or dropped.

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
    h("p", {}, "Paste a share link or a share string of the web editor, or the JSON of a diagram. You can also drop a file anywhere on this page."),
    form("Import", ({ url }) => {
      if (!url) throw new Error("Diagram is empty. Paste a share link, a share string or JSON.");
      return importText(url);
    }, field("url", "Diagram", { multiline: true, required: true })));
}
