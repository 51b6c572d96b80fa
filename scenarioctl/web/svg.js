// An SVG of the daemon as elements of the page, so that its cards can be clicked.  What is not in these lists is left
// out: a picture has no script, no style, no link, and refers to nothing.

const NAMESPACE = "http://www.w3.org/2000/svg";
const ELEMENTS = new Set(["svg", "title", "g", "rect", "circle", "path", "text", "tspan"]);
const ATTRIBUTES = new Set([
  "class", "role", "width", "height", "viewBox", "x", "y", "cx", "cy", "r", "rx", "d", "transform",
  "font-family", "font-size", "font-weight", "text-anchor", "textLength", "lengthAdjust",
  "data-node", "data-source", "data-target", "fill",
  "stroke", "stroke-opacity", "stroke-width", "stroke-linecap", "stroke-linejoin", "stroke-dasharray",
]);
// A large picture is built in several tasks, so that the page stays responsive.
const PORTION = 400;

export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

// Returns the element, or throws if `text` is no SVG.
export async function inlineSvg(text, signal) {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  if (parsed.localName !== "svg" || parsed.namespaceURI !== NAMESPACE) throw new Error("The picture is not an SVG");
  const made = copied(parsed);
  const waiting = [[parsed, made]];
  for (let count = 0; waiting.length; count += 1) {
    // Also once it is parsed, which takes as long as some portions.
    if (count % PORTION === 0) {
      await new Promise((wake) => setTimeout(wake));
      signal?.throwIfAborted();
    }
    const [source, target] = waiting.pop();
    for (const child of source.childNodes) {
      if (child.nodeType === Node.TEXT_NODE) target.append(child.data);
      else if (child.namespaceURI === NAMESPACE && ELEMENTS.has(child.localName)) {
        const copy = copied(child);
        target.append(copy);
        waiting.push([child, copy]);
      }
    }
  }
  return made;
}

function copied(source) {
  const element = document.createElementNS(NAMESPACE, source.localName);
  for (const { name, value } of source.attributes) {
    if (ATTRIBUTES.has(name)) element.setAttribute(name, value);
  }
  return element;
}
