// The diagram: drawn by the daemon, moved and zoomed here; its cards show what the last run did, and select a step.

import { get } from "./api.js";
import { fill, h, inPortions, problemOf } from "./dom.js";
import { ADDRESSES } from "./format.js";
import { knownName } from "./known.js";
import { isCompact, keepIn } from "./storage.js";
import { inlineSvg, s } from "./svg.js";
import { plain } from "./words.js";

const NEAREST = 8;
const FARTHEST = 0.1;
// The largest scale of a diagram that fits, and the smallest at which its text can be read.
const LARGEST = 1.4;
const READABLE = 0.6;
// Steps and lines of a large diagram that are drawn in one frame.
const PORTION = 80;
// Pixels that a finger may slip during a tap.
const SLIP = 5;

const OUTCOMES = {
  done: ["M-3.5 0l2.5 2.8 4.6-5.4", "Done in the last run"],
  drafted: ["M-2.8 3.2h5.6M-2.6-.6l4-4 1.8 1.8-4 4-2.2.4z", "Drafted in the last run"],
  failed: ["M-3 -3l6 6M3 -3l-6 6", "Failed in the last run"],
  skipped: ["M-3.5 0h7", "Skipped in the last run"],
  unmet: ["M-3 -3l6 6M-3.5 3.5h.01", "Not met in the last run"],
  waiting: ["M0 -4v4l2.8 1.8", "Waiting"],
};

const cardOf = (node) => {
  const card = node.querySelector(".card");
  return { width: Number(card.getAttribute("width")), height: Number(card.getAttribute("height")) };
};

function textOf(base64) {
  const letters = atob(base64);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at += 1) bytes[at] = letters.charCodeAt(at);
  return new TextDecoder().decode(bytes);
}

// The picture of a scenario that is stored.
export function storedPicture(scenario, signal, selected) {
  const load = async (options) => (await get("/api/info/preview", { scenario_id: scenario.id, format: "svg", ...options }, signal)).img;
  return pictureOf({ ...scenario, nodes: () => scenario.nodes, load }, signal, selected);
}

// Draws what `load({theme, compact})` returns, of the steps that `nodes()` returns.  Returns the element, and what the other parts of the page tell
// it: `select(node)`, and `mark(outcomes)` with the outcome of each node in the last run.  A click on a card calls `selected(node)`.
// With `edit`, there is a + on each arrow, and a handle at each card from which an arrow to another is drawn.
export function pictureOf({ id, title, nodes, load, edit = null }, signal, selected = (_) => {}) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const stage = h("div", { class: "stage" });
  const frame = h("div", { class: "picture", tabindex: "0", role: "group", "aria-label": `Diagram: ${title || "unfinished"}. Use the arrow keys to move, plus and minus to zoom, 0 to fit.` }, stage);
  const trouble = h("div");
  const download = h("a", { class: "button quiet", download: `${id || "diagram"}.svg` }, "Download SVG");
  const chains = h("button", { type: "button", class: "quiet", "aria-pressed": String(!isCompact()) }, "Show chains");
  const at = { x: 0, y: 0, scale: 1 };
  const size = { width: 0, height: 0 };
  let svg = null;
  let byId = new Map();
  let drawn = 0;
  let isMoved = false;
  let chosen = "";
  let outcomes = {};

  async function draw() {
    const number = ++drawn;
    const img = await load({ theme: dark.matches ? "dark" : "light", compact: String(isCompact()) });
    if (!img) return;
    const source = `data:image/svg+xml;base64,${img}`;
    const made = await inlineSvg(textOf(img), signal);
    // A drawing that was asked for later may be there already.
    if (number !== drawn) return;
    svg = made;
    Object.assign(size, { width: Number(svg.getAttribute("width")), height: Number(svg.getAttribute("height")) });
    const board = svg.lastElementChild;
    const parts = [...board.children];
    board.replaceChildren();
    fill(stage, svg);
    fill(trouble);
    // A small diagram is not enlarged to fill the frame.
    frame.style.height = `${Math.max(180, LARGEST * size.height)}px`;
    if (isMoved) place();
    else begin();
    await inPortions(parts, PORTION, (some) => board.append(...some), signal);
    if (number !== drawn || signal.aborted) return;
    download.href = source;
    byId = new Map([...made.querySelectorAll(".node")].map((node) => [node.dataset.node, node]));
    if (edit) decorate(made);
    word(made);
    select(chosen);
    mark(outcomes);
  }
  // The words of the page in place of the daemon's; and names for the addresses that it draws without their middle.
  function word(made) {
    const addresses = [...new Set(nodes().flatMap(({ text }) => text.match(ADDRESSES) ?? []))];
    const put = (place, text) => {
      for (const each of [place, place.parentElement]) each.removeAttribute("textLength");
      place.textContent = text;
    };
    for (const place of made.querySelectorAll("text, tspan")) {
      if (place.childElementCount) continue;
      const [text, start, end] = [place.textContent, ...place.textContent.match(/^(\w{6})…(\w{6})$/)?.slice(1) ?? []];
      const address = start && addresses.find((each) => each.startsWith(start) && each.endsWith(end));
      if (address) knownName(address).then((name) => { if (name) put(place, name.length > 18 ? `${name.slice(0, 17)}…` : name); });
      else if (plain(text) !== text) put(place, text === "xTransfer" ? "" : plain(text) || "…");
    }
  }

  const redraw = () => draw().catch((error) => { if (!signal.aborted) fill(trouble, problemOf(error)); });

  function place() {
    stage.style.transform = `translate(${at.x}px, ${at.y}px) scale(${at.scale})`;
  }

  const fitting = () => Math.min(LARGEST, frame.clientWidth / size.width, frame.clientHeight / size.height);

  function fit() {
    const scale = fitting();
    Object.assign(at, { scale, x: (frame.clientWidth - scale * size.width) / 2, y: (frame.clientHeight - scale * size.height) / 2 });
    isMoved = false;
    place();
  }

  // Of a diagram that is too small to read as a whole, the first steps are shown.
  function begin() {
    fit();
    if (at.scale >= READABLE) return;
    const scale = Math.max(READABLE, Math.min(1, frame.clientHeight / size.height));
    Object.assign(at, { scale, x: 0, y: Math.max(0, (frame.clientHeight - scale * size.height) / 2) });
    place();
  }

  function move(x, y) {
    at.x += x;
    at.y += y;
    isMoved = true;
    place();
  }

  function zoom(factor, x = frame.clientWidth / 2, y = frame.clientHeight / 2) {
    const scale = Math.min(NEAREST, Math.max(FARTHEST, at.scale * factor));
    // The point under the pointer stays where it is.
    at.x = x - (x - at.x) * (scale / at.scale);
    at.y = y - (y - at.y) * (scale / at.scale);
    at.scale = scale;
    move(0, 0);
  }

  function select(id) {
    chosen = id;
    for (const [each, node] of byId) node.classList.toggle("selected", each === id);
    const node = byId.get(id);
    if (!node) return;
    const box = node.getBoundingClientRect();
    const within = frame.getBoundingClientRect();
    if (box.left < within.left || box.right > within.right || box.top < within.top || box.bottom > within.bottom) {
      move(within.left + within.width / 2 - box.left - box.width / 2, within.top + within.height / 2 - box.top - box.height / 2);
    }
  }

  function mark(given) {
    outcomes = given;
    for (const [id, node] of byId) {
      node.querySelector(".outcome")?.remove();
      const outcome = given[id];
      if (!OUTCOMES[outcome]) continue;
      const [path, words] = OUTCOMES[outcome];
      node.append(s("g", { class: `outcome ${outcome}`, transform: `translate(${cardOf(node).width - 5} 5)` },
        s("title", {}, words), s("circle", { r: 9 }), s("path", { d: path })));
    }
  }

  // What an editor adds: a + at the middle of each arrow, and a handle behind each card.
  function decorate(made) {
    for (const edge of made.querySelectorAll(".edge[data-source]")) {
      const path = edge.querySelector("path");
      const { x, y } = path.getPointAtLength(path.getTotalLength() / 2);
      edge.append(s("g", { class: "plus", transform: `translate(${x} ${y})` }, s("title", {}, "Add a step here"), s("circle", { r: 11 }), s("path", { d: "M-5 0h10M0-5v10" })));
    }
    for (const node of byId.values()) {
      const { width, height } = cardOf(node);
      node.append(s("circle", { class: "port", cx: width, cy: height / 2, r: 7 }, s("title", {}, "Drag to another step to run it after this one")));
    }
  }

  // The arrow that is being drawn from a handle.
  let joining = null;

  function drawJoin({ clientX, clientY }) {
    const box = svg.getBoundingClientRect();
    const [x, y] = [(clientX - box.left) / at.scale, (clientY - box.top) / at.scale];
    joining.line.setAttribute("d", `M${joining.x} ${joining.y}L${x} ${y}`);
  }

  function beginJoin(node, event) {
    const [box, port] = [svg.getBoundingClientRect(), node.querySelector(".port").getBoundingClientRect()];
    joining = { node, x: (port.left + port.width / 2 - box.left) / at.scale, y: (port.top + port.height / 2 - box.top) / at.scale, line: s("path", { class: "joining" }) };
    svg.append(joining.line);
    drawJoin(event);
  }

  function endJoin({ clientX, clientY }) {
    const target = document.elementFromPoint(clientX, clientY)?.closest(".node");
    const { node, line } = joining;
    line.remove();
    joining = null;
    if (target && target !== node) edit.join(node.dataset.node, target.dataset.node);
  }

  frame.addEventListener("wheel", (event) => {
    // Without a modifier, the wheel scrolls the page.
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = frame.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });

  // One finger moves the diagram sideways, and scrolls the page up and down (`touch-action` in picture.css).
  const fingers = new Map();
  let pressed = null;
  let slipped = 0;
  frame.addEventListener("pointerdown", (event) => {
    fingers.set(event.pointerId, event);
    pressed = event.target.closest(".plus, .node");
    slipped = 0;
    frame.setPointerCapture(event.pointerId);
    if (event.target.matches(".port")) beginJoin(pressed, event);
  });
  frame.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    if (joining) {
      drawJoin(event);
      return;
    }
    slipped += Math.abs(event.clientX - before.clientX) + Math.abs(event.clientY - before.clientY);
    if (fingers.size === 1) {
      if (slipped > SLIP) move(event.clientX - before.clientX, event.pointerType === "touch" ? 0 : event.clientY - before.clientY);
    } else {
      const [other] = [...fingers.values()].filter((finger) => finger.pointerId !== event.pointerId);
      const apart = (finger) => Math.hypot(finger.clientX - other.clientX, finger.clientY - other.clientY);
      const box = frame.getBoundingClientRect();
      move((event.clientX - before.clientX) / 2, (event.clientY - before.clientY) / 2);
      if (apart(before) > 0) zoom(apart(event) / apart(before), (event.clientX + other.clientX) / 2 - box.left, (event.clientY + other.clientY) / 2 - box.top);
    }
    fingers.set(event.pointerId, event);
  });
  frame.addEventListener("pointerup", (event) => {
    fingers.delete(event.pointerId);
    const node = pressed;
    pressed = null;
    if (joining) {
      endJoin(event);
      return;
    }
    if (!node || slipped > SLIP) return;
    if (node.matches(".plus")) {
      edit.add(node.parentElement.dataset.source, node.parentElement.dataset.target);
      return;
    }
    select(node.dataset.node);
    selected(node.dataset.node);
  });
  frame.addEventListener("pointercancel", (event) => fingers.delete(event.pointerId));

  const keys = {
    ArrowLeft: () => move(40, 0), ArrowRight: () => move(-40, 0), ArrowUp: () => move(0, 40), ArrowDown: () => move(0, -40),
    "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), 0: fit,
  };
  frame.addEventListener("keydown", (event) => {
    const act = keys[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });

  chains.addEventListener("click", () => {
    keepIn("localStorage", "compact", !isCompact());
    chains.setAttribute("aria-pressed", String(!isCompact()));
    if (edit) edit.again();
    else redraw();
  });
  const resized = new ResizeObserver(() => { if (svg && !isMoved) begin(); });
  resized.observe(frame);
  signal.addEventListener("abort", () => resized.disconnect());
  dark.addEventListener("change", redraw, { signal });
  redraw();

  const element = h("figure", {},
    frame,
    trouble,
    h("figcaption", { class: "actions" },
      h("button", { type: "button", class: "quiet", "aria-label": "Zoom in", onclick: () => zoom(1.25) }, "+"),
      h("button", { type: "button", class: "quiet", "aria-label": "Zoom out", onclick: () => zoom(0.8) }, "−"),
      h("button", { type: "button", class: "quiet", onclick: fit }, "Fit"),
      chains,
      download));
  return { element, select, mark, redraw };
}
