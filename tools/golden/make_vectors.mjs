// Makes tests/data/vectors/golden.json with polkadot.js, offline; with --check it only says whether the file is current.

import { readFileSync, writeFileSync } from 'node:fs';
import { actingVectors } from './acting.mjs';
import { blockVectors } from './blocks.mjs';
import { everyCallVector } from './calls.mjs';
import { codecVectors } from './codec.mjs';
import { lineVectors } from './lines.mjs';
import { nestedVectors } from './nested.mjs';
import { randomCallVectors } from './random_calls.mjs';
import { must, ROOT } from './runtimes.mjs';
import { signingVectors } from './signing.mjs';
import { transferVectors } from './transfers.mjs';
import { walletVectors } from './wallets.mjs';

const TARGET = new URL('tests/data/vectors/golden.json', ROOT);

const { dependencies } = JSON.parse(readFileSync(new URL('package.json', import.meta.url)));
const vectors = [
  ...transferVectors(), ...everyCallVector(), ...nestedVectors(), ...lineVectors(), ...randomCallVectors(12), ...signingVectors(), ...walletVectors(),
  ...codecVectors(), ...actingVectors(),
];

must(new Set(vectors.map(({ id }) => id)).size === vectors.length, 'two vectors have one id');

// One vector a line: a change shows as the lines that changed.
const lines = vectors.map((vector) => JSON.stringify(vector)).join(',\n');
const made = Object.fromEntries(Object.entries(dependencies).filter(([name]) => name.startsWith('@polkadot')));
const content = `{"made_by": ${JSON.stringify(made)}, "vectors": [\n${lines}\n]}\n`;

if (process.argv.includes('--check')) {
  must(readFileSync(TARGET, 'utf8') === content, 'tests/data/vectors/golden.json is not what polkadot.js makes: run `node make_vectors.mjs`');
  console.log(`golden.json is current: ${vectors.length} vectors`);
} else {
  writeFileSync(TARGET, content);
  console.log(`golden.json: ${vectors.length} vectors`);
}

const BLOCKS = new URL('tests/data/vectors/blocks.json', ROOT);
const { headers, extrinsics } = await blockVectors();
const rows = (each) => each.map((vector) => JSON.stringify(vector)).join(',\n');
const blocks = `{"made_by": ${JSON.stringify(dependencies)},\n"headers": [\n${rows(headers)}\n],\n"extrinsics": [\n${rows(extrinsics)}\n]}\n`;

if (process.argv.includes('--check')) {
  must(readFileSync(BLOCKS, 'utf8') === blocks, 'tests/data/vectors/blocks.json is not current: run `node make_vectors.mjs`');
} else {
  writeFileSync(BLOCKS, blocks);
}
