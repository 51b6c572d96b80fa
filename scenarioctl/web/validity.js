// How long a payload can be signed and sent: the blocks of its era, and how long the chain takes for them.

import { post } from "./api.js";
import { fill, h } from "./dom.js";
import { grouped } from "./format.js";

// Blocks back, over which the chain's pace is measured.
const MEASURED = 50;
// Milliseconds after which the chain is asked again how late it is.
const AGAIN = 30_000;

// The first and the last block of the era of a SignerPayloadJSON; null for an immortal one.
export function blocksOf({ era, blockNumber }) {
  if (!/^0x[0-9a-f]{4}$/i.test(era)) return null;
  const encoded = Number.parseInt(era.slice(4, 6) + era.slice(2, 4), 16);
  const period = 2 << (encoded & 0xf);
  const first = Number(blockNumber);
  return { first, last: first + period - 1, period };
}

// Seconds until the era ends; null if the chain doesn't tell.
async function secondsLeft(chain, { first, period }, signal) {
  const time = async (block) => {
    const { result } = await post("/api/actions/query", { chain, pallet_name: "Timestamp", method_name: "Now", block }, signal);
    return Number(result);
  };
  const earlier = Math.max(1, first - MEASURED);
  const [then, start, now] = [await time(String(earlier)), await time(String(first)), await time("")];
  const pace = (start - then) / (first - earlier);
  const left = (period * pace - (now - start)) / 1000;
  return then > 0 && pace > 0 && Number.isFinite(left) ? Math.max(0, left) : null;
}

// Calls `tell(words)` each second with how much time is left, like "3 min left", until `ended()` or `signal` aborts.  Nothing
// is told while the chain doesn't say how late it is.
async function countDown(chain, blocks, tell, ended, signal) {
  /** @type {number | null} */
  let end = null;
  let asked = 0;
  async function ask() {
    asked = Date.now();
    const left = await secondsLeft(chain, blocks, signal).catch(() => null);
    if (left !== null) end = Date.now() + left * 1000;
  }
  for (;;) {
    // Blocks may come slower than they did, which is seen before it is over too.
    if (end === null || Date.now() - asked > AGAIN || end <= Date.now()) await ask();
    if (signal.aborted) return;
    if (end !== null && end <= Date.now()) break;
    if (end !== null) tell(leftWords((end - Date.now()) / 1000));
    await new Promise((wake) => setTimeout(wake, end === null ? AGAIN : 1000));
  }
  ended();
}

function leftWords(seconds) {
  if (seconds < 120) return `${Math.ceil(seconds)} s left`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${minutes} min left`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} hours left` : `${Math.floor(hours / 24)} days left`;
}

// How much time is left, and until which block; it changes too often to be read aloud.
export function clockOf(chain, title, blocks, ended, signal) {
  const left = h("strong");
  const until = `until block ${grouped(blocks.last)} of ${title}.`;
  const clock = h("p", { role: "timer", "aria-live": "off" }, `Valid ${until}`);
  const gone = new AbortController();
  const tell = (words) => {
    if (clock.contains(left) && !clock.isConnected) gone.abort();
    if (!clock.contains(left)) fill(clock, left, `, ${until}`);
    if (left.textContent !== words) left.textContent = words;
  };
  countDown(chain, blocks, tell, ended, AbortSignal.any([signal, gone.signal]));
  return clock;
}
