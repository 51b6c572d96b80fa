// The diagram: drawn by the daemon, moved and zoomed here; its cards show what the last run did, and select a step.

import { get } from "./api.js";
import { fill, h, inPortions, problemOf } from "./dom.js";
import { isCompact, keepIn } from "./storage.js";
import { inlineSvg, s } from "./svg.js";

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
  waiting: ["M0 -4v4l2.8 1.8", "Waiting"],
};

const cardOf = (node) => {
  const card = node.querySelector(".card");
  return { width: Number(card.getAttribute("width")), height: Number(card.getAttribute("height")) };
};

const offsetOf = (element) => (element.getAttribute("transform") ?? "").match(/-?[\d.]+/g)?.map(Number) ?? [0, 0];

// The outline of the card of `node`, which lies on `board`, as a path: the small map shows no more.
function outlineOf(node, board) {
  const { width, height } = cardOf(node);
  const [[x, y], [left, top]] = [offsetOf(node), offsetOf(board)];
  return `M${x + left} ${y + top}h${width}v${height}h${-width}z`;
}

function textOf(base64) {
  const letters = atob(base64);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at += 1) bytes[at] = letters.charCodeAt(at);
  return new TextDecoder().decode(bytes);
}

// Returns the element of the picture, and what the other parts of the page tell it: `select(node)`, `mark(outcomes)`
// with the outcome of each node in the last run, and `arrive(node, text)`.  A click on a card calls `selected(node)`.
export function pictureOf(scenario, signal, selected = () => {}) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const stage = h("div", { class: "stage" });
  const view = h("div");
  const plan = s("svg");
  const map = h("div", { class: "minimap", "aria-hidden": "true", hidden: true }, plan, view);
  const frame = h("div", { class: "picture", tabindex: "0", role: "group", "aria-label": `Diagram: ${scenario.title || "unfinished"}. Use the arrow keys to move, plus and minus to zoom, 0 to fit.` }, stage, map);
  const trouble = h("div");
  const download = h("a", { class: "button quiet", download: `${scenario.id}.svg` }, "Download SVG");
  const chains = h("button", { type: "button", class: "quiet", "aria-pressed": String(!isCompact()) }, "Show chains");
  const at = { x: 0, y: 0, scale: 1 };
  const size = { width: 0, height: 0 };
  let svg = null;
  let byId = new Map();
  let drawn = 0;
  let isMoved = false;
  let chosen = "";
  let outcomes = {};
  const arrivals = new Map();

  async function draw() {
    const number = ++drawn;
    const { img } = await get("/api/info/preview", { scenario_id: scenario.id, format: "svg", theme: dark.matches ? "dark" : "light", compact: String(isCompact()) }, signal);
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
    begin();
    await inPortions(parts, PORTION, (some) => board.append(...some), signal);
    if (number !== drawn || signal.aborted) return;
    download.href = source;
    byId = new Map([...made.querySelectorAll(".node")].map((node) => [node.dataset.node, node]));
    plan.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
    plan.replaceChildren(s("path", { d: [...byId.values()].map((node) => outlineOf(node, board)).join("") }));
    select(chosen);
    mark(outcomes);
    for (const [node, words] of arrivals) arrive(node, words);
  }
  const redraw = () => draw().catch((error) => { if (!signal.aborted) fill(trouble, problemOf(error)); });

  function place() {
    stage.style.transform = `translate(${at.x}px, ${at.y}px) scale(${at.scale})`;
    const { clientWidth: wide, clientHeight: high } = frame;
    map.hidden = size.width * at.scale <= wide + 1 && size.height * at.scale <= high + 1;
    if (map.hidden) return;
    const share = (number) => `${100 * Math.max(0, Math.min(1, number))}%`;
    const [left, top] = [-at.x / at.scale / size.width, -at.y / at.scale / size.height];
    const [right, bottom] = [left + wide / at.scale / size.width, top + high / at.scale / size.height];
    map.style.aspectRatio = `${size.width} / ${size.height}`;
    Object.assign(view.style, {
      left: share(left), top: share(top), right: share(1 - right), bottom: share(1 - bottom),
    });
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

  function arrive(id, text) {
    arrivals.set(id, text);
    const node = byId.get(id) ?? [...byId.values()].at(-1);
    if (!node) return;
    node.querySelector(".arrival")?.remove();
    const { width, height } = cardOf(node);
    const words = s("text", { "text-anchor": "middle", y: 4, "font-size": 11 }, text);
    const chip = s("g", { class: "arrival", transform: `translate(${width / 2} ${height})` }, words);
    node.append(chip);
    const half = words.getComputedTextLength() / 2 + 9;
    chip.prepend(s("rect", { x: -half, y: -11, width: 2 * half, height: 22, rx: 11 }));
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
    if (map.contains(event.target)) return;
    fingers.set(event.pointerId, event);
    pressed = event.target.closest(".node");
    slipped = 0;
    frame.setPointerCapture(event.pointerId);
  });
  frame.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
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
    // The end of a press on the small map comes here too.
    pressed = null;
    if (!node || slipped > SLIP) return;
    select(node.dataset.node);
    selected(node.dataset.node);
  });
  frame.addEventListener("pointercancel", (event) => fingers.delete(event.pointerId));

  function look(event) {
    const box = map.getBoundingClientRect();
    at.x = frame.clientWidth / 2 - ((event.clientX - box.left) / box.width) * size.width * at.scale;
    at.y = frame.clientHeight / 2 - ((event.clientY - box.top) / box.height) * size.height * at.scale;
    move(0, 0);
  }
  map.addEventListener("pointerdown", (event) => { map.setPointerCapture(event.pointerId); look(event); });
  map.addEventListener("pointermove", (event) => { if (map.hasPointerCapture(event.pointerId)) look(event); });

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
    redraw();
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
  return { element, select, mark, arrive, redraw };
}
