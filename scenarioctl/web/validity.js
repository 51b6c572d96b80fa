// How long a payload can be signed and sent: the blocks of its era, and how long the chain takes for them.

import { post } from "./api.js";

// Blocks back, over which the chain's pace is measured.
const MEASURED = 50;

// The first and the last block of the era of a SignerPayloadJSON; null for an immortal one.
export function blocksOf({ era, blockNumber }) {
  if (!/^0x[0-9a-f]{4}$/i.test(era)) return null;
  const encoded = Number.parseInt(era.slice(4, 6) + era.slice(2, 4), 16);
  const period = 2 << (encoded & 0xf);
  const first = Number(blockNumber);
  return { first, last: first + period - 1, period };
}

// Seconds until the era ends; null if the chain doesn't tell.
export async function secondsLeft(chain, { first, period }, signal) {
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

// "about 6 minutes"
export function about(seconds) {
  if (seconds < 60) return "less than a minute";
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `about ${minutes} minute${minutes === 1 ? "" : "s"}`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `about ${hours} hours` : `about ${Math.floor(hours / 24)} days`;
}
