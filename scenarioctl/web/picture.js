// The diagram: drawn by the daemon, panned and zoomed here.

import { get } from "./api.js";
import { h, problemOf } from "./dom.js";

const NEAREST = 8;
const FARTHEST = 0.2;
// The largest scale of a diagram that fits.
const LARGEST = 1.4;

export async function pictureOf(scenario, signal) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const image = h("img", { alt: `Diagram: ${scenario.summary || "unfinished"}. The steps are listed below.`, draggable: "false" });
  const frame = h("div", { class: "picture", tabindex: "0", role: "group", "aria-label": "Diagram. Use the arrow keys to move, plus and minus to zoom, 0 to fit." }, image);

  async function draw() {
    const { img } = await get("/api/info/preview", { scenario_id: scenario.id, format: "svg", theme: dark.matches ? "dark" : "light" }, signal);
    // An SVG in an image element runs no scripts and loads nothing.
    image.src = `data:image/svg+xml;base64,${img}`;
  }

  try {
    await draw();
  } catch (error) {
    if (signal.aborted) throw error;
    return problemOf(error);
  }
  dark.addEventListener("change", () => draw().catch(() => {}), { signal });

  const view = { x: 0, y: 0, scale: 1 };
  const place = () => { image.style.transform = `translate(${view.x}px, ${view.y}px) scale(${view.scale})`; };
  const fit = () => { Object.assign(view, { x: 0, y: 0, scale: 1 }); place(); };
  function zoom(factor, x = frame.clientWidth / 2, y = frame.clientHeight / 2) {
    const scale = Math.min(NEAREST, Math.max(FARTHEST, view.scale * factor));
    // The point under the pointer stays where it is.
    view.x = x - (x - view.x) * (scale / view.scale);
    view.y = y - (y - view.y) * (scale / view.scale);
    view.scale = scale;
    place();
  }
  image.addEventListener("load", () => {
    // A small diagram is not enlarged to fill the frame.
    frame.style.height = `${Math.max(180, LARGEST * image.naturalHeight)}px`;
    // On a phone the whole diagram is too small to read, so show the first steps.
    if (frame.clientWidth < 480 && image.naturalWidth > 2 * frame.clientWidth) zoom(2.2, 0);
  }, { once: true });
  const move = (x, y) => { view.x += x; view.y += y; place(); };

  frame.addEventListener("wheel", (event) => {
    // Without a modifier, the wheel scrolls the page.
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = frame.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });

  // One finger moves the diagram sideways, and scrolls the page up and down (`touch-action` in page.css).
  const fingers = new Map();
  frame.addEventListener("pointerdown", (event) => {
    fingers.set(event.pointerId, event);
    frame.setPointerCapture(event.pointerId);
  });
  frame.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    if (fingers.size === 1) move(event.clientX - before.clientX, event.pointerType === "touch" ? 0 : event.clientY - before.clientY);
    else {
      const [other] = [...fingers.values()].filter((finger) => finger.pointerId !== event.pointerId);
      const apart = (finger) => Math.hypot(finger.clientX - other.clientX, finger.clientY - other.clientY);
      const box = frame.getBoundingClientRect();
      move((event.clientX - before.clientX) / 2, (event.clientY - before.clientY) / 2);
      if (apart(before) > 0) zoom(apart(event) / apart(before), (event.clientX + other.clientX) / 2 - box.left, (event.clientY + other.clientY) / 2 - box.top);
    }
    fingers.set(event.pointerId, event);
  });
  for (const end of ["pointerup", "pointercancel"]) frame.addEventListener(end, (event) => fingers.delete(event.pointerId));

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

  return h("figure", {},
    frame,
    h("figcaption", { class: "actions" },
      h("button", { type: "button", "aria-label": "Zoom in", onclick: () => zoom(1.25) }, "+"),
      h("button", { type: "button", "aria-label": "Zoom out", onclick: () => zoom(0.8) }, "−"),
      h("button", { type: "button", onclick: fit }, "Fit"),
      h("a", { class: "button", download: `${scenario.id}.svg`, href: image.src }, "Download SVG")));
}
