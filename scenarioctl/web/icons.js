// Marks of chains and tokens, drawn here: a disc in a color of its own, and on it a sign or the first letter.

import { h } from "./dom.js";
import { chainName } from "./known.js";
import { s } from "./svg.js";

const DOTS = "M12 4.4h.01M18.6 8.2h.01M18.6 15.8h.01M12 19.6h.01M5.4 15.8h.01M5.4 8.2h.01";
const LAYERS = "M12 4.5l8 4.4-8 4.4-8-4.4zM4 13.6l8 4.4 8-4.4";
const FLASK = "M9 4.5h6M10.3 4.5v5.4l-4.6 8.2a1 1 0 0 0 .9 1.4h10.8a1 1 0 0 0 .9-1.4l-4.6-8.2v-5.4M8 15h8";
const DROP = "M12 3.6c3.7 4.3 5.8 7.2 5.8 10.1a5.8 5.8 0 0 1-11.6 0c0-2.9 2.1-5.8 5.8-10.1z";
const COIN = "M8 7h8M12 7v11M7.5 11.5c2.5 2 6.5 2 9 0";
// As in the pictures of the daemon: `render/palette.json`.
const SIGNS = {
  polkadot: ["#d6006f", DOTS], kusama: ["#30343f", "M5 7.5l7 4.5 7-4.5M5 13.5l7 4.5 7-4.5"], paseo: ["#7a3fd0", FLASK],
  assetHub: ["#1b6e53", LAYERS], assetHub_kusama: ["#51606f", LAYERS], assetHub_paseo: ["#5a55b8", LAYERS], hydraDx: ["#b3145f", DROP],
  DOT: ["#d6006f", DOTS], KSM: ["#30343f", "M5 7.5l7 4.5 7-4.5M5 13.5l7 4.5 7-4.5"], PAS: ["#7a3fd0", FLASK], HDX: ["#b3145f", DROP],
  USDT: ["#1a7f64", COIN], USDC: ["#2767b8", COIN], GLMR: ["#0f7c83", ""], ASTR: ["#2b5fd9", ""], BNC: ["#5a3fc0", ""], VDOT: ["#8a2be2", DOTS],
};

// A text as a number: the same for each that has these letters.
const hashOf = (text) => [...text].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 360, 7);

export function disc(key, letter = chainName(key)[0]) {
  const [fill, path] = SIGNS[key] ?? [`hsl(${hashOf(key)} 45% 36%)`, ""];
  return s("svg", { class: "mark", viewBox: "0 0 24 24", width: 24, height: 24, "aria-hidden": "true" },
    s("circle", { cx: 12, cy: 12, r: 12, fill }),
    path ? s("path", { d: path, fill: "none", stroke: "#fff", "stroke-width": path === DOTS ? 4.6 : 2.1, "stroke-linecap": "round", "stroke-linejoin": "round", transform: "translate(3 3) scale(.75)" })
      : s("text", { x: 12, y: 16.5, "text-anchor": "middle", "font-size": 13, "font-weight": 700, fill: "#fff" }, letter));
}

export const chainMark = (chain) => h("span", { class: "marked" }, disc(chain), " ", chainName(chain));

export const tokenMark = (symbol) => disc(symbol.toUpperCase().replace(/^XC/, ""), symbol[0] ?? "?");
