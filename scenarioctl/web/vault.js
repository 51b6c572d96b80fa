// Polkadot Vault: shows it the payload as QR codes, and reads its signature with the camera.

import { post } from "./api.js";
import { fill, form, field, h, mistake, problemOf } from "./dom.js";

// Milliseconds that each of several codes is shown, and between two looks at the camera.
const SHOWN = 800;
const LOOK = 120;
// Pixels; a code that fills a good part of a larger picture is read as well from a smaller one.
const WIDEST = 1280;

// The signature of a code that Vault shows; "" for any other text.
export function signatureIn(text) {
  const [, digits] = text.trim().match(/^(?:0x)?((?:[0-9a-f]{2}){64,66})$/i) ?? [];
  return digits ? `0x${digits.toLowerCase()}` : "";
}

export async function payloadCodes(vaultPayload, signal) {
  const { codes } = await post("/web/vault", { payload: vaultPayload }, signal);
  const images = codes.map((code, number) => h("img", {
    class: "qr", src: `data:image/svg+xml;base64,${code}`, hidden: number > 0,
    alt: codes.length > 1 ? `Polkadot Vault QR code, ${number + 1} of ${codes.length}` : "Polkadot Vault QR code",
  }));
  return h("figure", {}, images, h("figcaption", {}, "Scan with Polkadot Vault, and compare what it shows."), images.length > 1 && turned(images, signal));
}

// A long payload has several codes, which take turns, or are turned by hand.
function turned(images, signal) {
  let at = 0;
  const which = h("span", {}, `1 of ${images.length}`);
  const turn = (by) => {
    images[at].hidden = true;
    at = (at + by + images.length) % images.length;
    images[at].hidden = false;
    which.textContent = `${at + 1} of ${images.length}`;
  };
  let timer = 0;
  const play = h("button", { type: "button", onclick: () => run(!timer) });
  const run = (on) => {
    clearInterval(timer);
    timer = on ? setInterval(() => { if (images[0].isConnected) turn(1); else run(false); }, SHOWN) : 0;
    play.textContent = on ? "Stop turning" : "Turn by itself";
  };
  signal.addEventListener("abort", () => run(false));
  run(!matchMedia("(prefers-reduced-motion: reduce)").matches);
  return h("div", { class: "actions" },
    h("button", { type: "button", onclick: () => { run(false); turn(-1); } }, "Previous code"),
    h("button", { type: "button", onclick: () => { run(false); turn(1); } }, "Next code"), play, which);
}

// Reads a signature, from the camera or from a field; `take(signature)` does what comes next.
export function signatureReader(take, signal) {
  const place = h("div");
  const camera = window.isSecureContext && navigator.mediaDevices?.getUserMedia;
  const button = h("button", { type: "button", class: "primary", onclick: () => scan(place, button, take, signal) }, "Scan the signature");
  return h("div", {},
    camera ? h("div", { class: "actions" }, button)
      : h("p", { class: "notice" }, `The camera is not available on ${location.origin}: browsers allow it only on https or localhost. Paste the signature instead.`),
    place,
    pasted(take, camera ? "Or paste the signature" : "Signature", "Hex, as the code of Vault contains it; with or without 0x."));
}

export function pasted(take, label, hint) {
  return form("Use this signature", ({ signature }) => {
    const found = signatureIn(signature ?? "");
    if (!found) throw mistake("signature", "This is not a signature: it has 64 to 66 bytes in hex.");
    return take(found);
  }, field("signature", label, { hint, required: true }));
}

async function scan(place, button, take, signal) {
  const stopped = new AbortController();
  const stop = () => stopped.abort();
  signal.addEventListener("abort", stop);
  button.disabled = true;
  const said = h("p", { role: "status" }, "Hold the code that Vault shows before the camera.");
  const video = h("video", { muted: true, playsinline: true, "aria-label": "What the camera sees" });
  video.muted = true;
  let stream;
  try {
    stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment", width: { ideal: 1280 } } });
    video.srcObject = stream;
    fill(place, video, said, h("div", { class: "actions" }, h("button", { type: "button", onclick: stop }, "Stop the camera")));
    await video.play();
    const read = await reader();
    let found = "";
    // A payload that is prepared again takes the camera away.
    while (!found && !stopped.signal.aborted && video.isConnected) {
      await new Promise((wake) => setTimeout(wake, LOOK));
      const text = video.videoWidth ? await read(video) : "";
      found = signatureIn(text);
      if (text && !found) said.textContent = "This code is not a signature. Vault shows the signature after you approve the transaction.";
    }
    fill(place);
    if (found) await take(found);
  } catch (error) {
    if (!signal.aborted) fill(place, problemOf(new Error(whyNot(error))));
  } finally {
    for (const track of stream?.getTracks() ?? []) track.stop();
    signal.removeEventListener("abort", stop);
    button.disabled = false;
  }
}

function whyNot(error) {
  if (error.name === "NotAllowedError") return `The browser does not allow this page the camera. Allow it for ${location.origin}, or paste the signature.`;
  if (error.name === "NotFoundError") return "This device has no camera. Paste the signature instead.";
  return error.name === "NotReadableError" ? "The camera is in use by another program. Close that, or paste the signature." : error.message;
}

// Returns what reads the text of a code in a video: the browser's own reader, or the one that comes with the page.
async function reader() {
  const formats = await window.BarcodeDetector?.getSupportedFormats?.().catch(() => []) ?? [];
  if (formats.includes("qr_code")) {
    const detector = new window.BarcodeDetector({ formats: ["qr_code"] });
    return async (video) => (await detector.detect(video))[0]?.rawValue ?? "";
  }
  const { decodeQR } = await import(/** @type {string} */ ("./qr.js"));
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d", { willReadFrequently: true });
  return async (video) => {
    const scale = Math.min(1, WIDEST / video.videoWidth);
    canvas.width = Math.round(video.videoWidth * scale);
    canvas.height = Math.round(video.videoHeight * scale);
    context.drawImage(video, 0, 0, canvas.width, canvas.height);
    try {
      return decodeQR(context.getImageData(0, 0, canvas.width, canvas.height));
    } catch {
      // No code in this picture.
      return "";
    }
  };
}
