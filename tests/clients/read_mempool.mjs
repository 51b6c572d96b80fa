// read_mempool.mjs WORKER_URL SCENARIO_ID CHAIN=METADATA…: decodes every transaction of a job's mempool with polkadot.js,
// and prints of each its chain, call, arguments and whether it is signed.
//
// A client with a node at hand has the registry from `ApiPromise.create()`; here it is made from the runtime's metadata.

import { readFileSync } from 'node:fs';
import { Metadata, TypeRegistry } from '@polkadot/types';
import { u8aToHex } from '@polkadot/util';

const [worker, id, ...files] = process.argv.slice(2);
const registries = Object.fromEntries(files.map((file) => {
  const [chain, path] = file.split('=');
  const registry = new TypeRegistry();
  registry.setMetadata(new Metadata(registry, u8aToHex(readFileSync(path))));
  return [chain, registry];
}));

const response = await fetch(`${worker}/scenario/tx`, {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ id }),
});
const { mempool } = await response.json();

const read = mempool.filter(({ tx }) => tx.startsWith('0x')).map(({ chain, tx, txType }) => {
  const extrinsic = registries[chain].createType('Extrinsic', tx);
  const { args, method, section } = extrinsic.method.toHuman();
  return { chain, txType, call: `${section}.${method}`, args, signed: extrinsic.isSigned, again: extrinsic.toHex() === tx };
});
console.log(JSON.stringify(read));
