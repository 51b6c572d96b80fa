// Calls with arguments made up from the metadata: what no list written by hand would think of.

import { randomNumbers } from './random.mjs';
import { buildCall, canBeNull, expectCall, loadRuntime, OLDER, RUNTIMES } from './runtimes.mjs';

// Calls longer than this are left out of the file.
const LONGEST = 400;

// Deeper than this the shortest choice is taken.
const DEEP = 7;

// Written by polkadot.js in a way of its own, not by the metadata.
const OWN_WAY = ['OpaqueCall', 'WrapperKeepOpaque', 'WrapperOpaque'];

function randomValue (runtime, pick, id, depth) {
  const { registry } = runtime;
  const { def, path } = registry.lookup.getSiType(id);
  const last = path.length ? path[path.length - 1].toString() : '';
  const go = (type) => randomValue(runtime, pick, type, depth + 1);
  const count = (most) => depth > DEEP ? 0 : pick(most + 1);
  const bytes = (length) => `0x${Array.from({ length }, () => pick(256).toString(16).padStart(2, '0')).join('')}`;

  if (OWN_WAY.includes(last)) {
    throw new Error(`${last} is not made here`);
  }

  if (last === 'RuntimeCall') {
    return { System: { remark: { remark: bytes(pick(8)) } } };
  }

  if (path.join('::') === 'primitive_types::U256') {
    return integer(pick, 'U256');
  }

  // Seven convictions, either way.
  if (last === 'Vote' && def.isComposite) {
    return pick(7) + 128 * pick(2);
  }

  if (def.isPrimitive) {
    return def.asPrimitive.isBool ? pick(2) === 1 : def.asPrimitive.isStr ? ['', 'text', '🦀'][pick(3)] : integer(pick, def.asPrimitive.toString());
  }

  if (def.isCompact) {
    return go(def.asCompact.type);
  }

  if (def.isBitSequence) {
    return Array.from({ length: 8 * count(3) }, () => pick(2)).join('');
  }

  if (def.isArray || def.isSequence) {
    const { type } = def.isArray ? def.asArray : def.asSequence;
    const item = registry.lookup.getSiType(type).def;
    const isBytes = item.isPrimitive && item.asPrimitive.isU8;
    const length = def.isArray ? def.asArray.len.toNumber() : isBytes ? pick(40) : count(3);

    return isBytes ? bytes(length) : Array.from({ length }, () => go(type));
  }

  if (def.isTuple) {
    return def.asTuple.length ? def.asTuple.map(go) : null;
  }

  if (def.isComposite) {
    const inner = randomFields(def.asComposite.fields, go);

    // Sorted by polkadot.js, kept in order by us: one entry is in order anyhow.
    return /BTree(Map|Set)$/.test(last) && Array.isArray(inner) ? inner.slice(0, 1) : inner;
  }

  if (last === 'Option') {
    const { type } = def.asVariant.variants[1].fields[0];

    return depth > DEEP || pick(2) ? null : canBeNull(registry, type) ? { Some: go(type) } : go(type);
  }

  const variant = choose(def.asVariant.variants, last, depth, pick);

  return variant.fields.length ? { [variant.name]: randomFields(variant.fields, go) } : variant.name.toString();
}

function choose (variants, type, depth, pick) {
  // An index is written by polkadot.js as a number, where the metadata has nothing; its hashed data have no form of their own.
  const barred = { Data: /^(BlakeTwo256|Sha256|Keccak256|ShaThree256)$/, MultiAddress: /^Index$/ }[type] ?? /^$/;
  const allowed = variants.filter(({ name }) => !barred.test(name));

  if (allowed.length === 0) {
    throw new Error(`${type || 'a type without values'} is not made here`);
  }

  if (depth <= DEEP) {
    return allowed[pick(allowed.length)];
  }

  return allowed.reduce((a, b) => b.fields.length < a.fields.length ? b : a);
}

function randomFields (list, go) {
  if (list.length === 0) {
    return null;
  }

  if (list[0].name.isSome) {
    return Object.fromEntries(list.map(({ name, type }) => [name.unwrap().toString(), go(type)]));
  }

  return list.length === 1 ? go(list[0].type) : list.map(({ type }) => go(type));
}

function integer (pick, name) {
  const bits = BigInt(name.slice(1));
  const most = name[0] === 'U' ? 2n ** bits - 1n : 2n ** (bits - 1n) - 1n;
  let value = 0n;

  for (let i = 0; i < 9; i++) {
    value = value * 2n ** 31n + BigInt(pick(2 ** 31));
  }

  const size = (value >> BigInt(pick(279))) % (most + 1n);

  return `${name[0] === 'I' && pick(2) ? -1n - size : size}`;
}

// Returns one vector for every *step*th call of all runtimes.
export function randomCallVectors (step, seed = 20261121) {
  const pick = randomNumbers(seed);
  const vectors = [];
  let place = 0;

  for (const [chain, metadata] of Object.entries({ ...RUNTIMES, ...OLDER })) {
    const runtime = loadRuntime(metadata);

    for (const { calls, name: pallet } of runtime.pallets) {
      const variants = calls.isSome ? runtime.registry.lookup.getSiType(calls.unwrap().type).def.asVariant.variants : [];

      for (const { fields, name: method } of variants) {
        place += 1;

        if (fields.length === 0 || place % step) {
          continue;
        }

        const vector = randomCall(chain, runtime, pick, `${pallet}`, `${method}`, fields);

        if (vector && vector.call_hex?.length <= 2 + 2 * LONGEST) {
          vectors.push(vector);
        }
      }
    }
  }

  return vectors;
}

function randomCall (chain, runtime, pick, pallet, method, fields) {
  let args;

  try {
    args = randomFields(fields, (type) => randomValue(runtime, pick, type, 0));
  } catch (error) {
    if (/is not made here/.test(error.message)) {
      return null;
    }

    throw error;
  }

  const call = { args, method, pallet };

  return { id: `random-${chain}-${pallet}-${method}`, kind: 'call', metadata: runtime.file, ...call, ...expectCall(runtime, buildCall(runtime, call)) };
}
