// Hashes of headers as polkadot.js makes them, and roots of extrinsics as smoldot does, in both state versions.

import { calculate_state_root as rootOf } from '@acala-network/chopsticks-executor';
import { TypeRegistry } from '@polkadot/types';
import { compactToU8a, u8aToHex } from '@polkadot/util';
import { blake2AsHex } from '@polkadot/util-crypto';

const LOG = '0x066175726120ca24c70800000000';
// Around the boundaries of compact numbers, and so of keys with one, two and four bytes.
const NUMBERS = [0, 1, 63, 64, 16383, 16384, 31_000_000, 2 ** 30 - 1];
const COUNTS = [0, 1, 2, 3, 16, 17, 63, 64, 65, 300, 16390];
// Around the length of a hash: a shorter node stands in its parent, and with version 1 a longer value as its hash.
const LENGTHS = [0, 1, 28, 29, 30, 31, 32, 33, 34, 63, 64, 200];

function header(number) {
  const logs = Array(number % 5).fill(LOG);
  const json = {
    parentHash: blake2AsHex(`parent ${number}`), number: `0x${number.toString(16)}`, stateRoot: blake2AsHex('state'),
    extrinsicsRoot: blake2AsHex('extrinsics'), digest: { logs },
  };
  return { header: json, hash: new TypeRegistry().createType('Header', json).hash.toHex() };
}

// The extrinsic at a place is a byte, its place, as often as one of LENGTHS says.
async function roots(count) {
  const values = Array.from({ length: count }, (_, place) => new Uint8Array(LENGTHS[place % LENGTHS.length]).fill(place % 256));
  const entries = values.map((value, place) => [u8aToHex(compactToU8a(place)), u8aToHex(value)]);
  return { count, lengths: LENGTHS, roots: [await rootOf(entries, 0), await rootOf(entries, 1)] };
}

export async function blockVectors() {
  const extrinsics = [];
  for (const count of COUNTS) extrinsics.push(await roots(count));
  return { headers: NUMBERS.map(header), extrinsics };
}
