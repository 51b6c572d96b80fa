// The runtimes, as polkadot.js reads them, and the one way by which arguments reach it.

import { readFileSync } from 'node:fs';
import { expandMetadata, Metadata, Option, TypeRegistry } from '@polkadot/types';
import { blake2AsHex } from '@polkadot/util-crypto';
import { stringCamelCase, u8aToHex } from '@polkadot/util';

export const ROOT = new URL('../../', import.meta.url);
const METADATA = new URL('tests/data/metadata/', ROOT);

// Extensions that polkadot.js does not know.  Each is checked against the metadata to carry no bytes.
const VOID_EXTENSIONS = ['AuthorizeCall', 'EthSetOrigin', 'StorageWeightReclaim', 'ValidateClaim'];

// The newest runtime of each chain, then older ones for older XCM versions and for metadata V14.
export const RUNTIMES = {
  polkadot: 'polkadot-2000000.v15.scale',
  assetHub: 'asset-hub-polkadot-2003001.v16.scale',
  hydraDx: 'hydration-428.v16.scale',
  kusama: 'kusama-1009002.v15.scale',
  assetHub_kusama: 'asset-hub-kusama-2002000.v16.scale',
  assetHub_paseo: 'asset-hub-paseo-2002002.v16.scale',
};
export const OLDER = {
  polkadotV14: 'polkadot-1002005.v14.scale',
  polkadotV15: 'polkadot-1006000.v15.scale',
  assetHubV15: 'asset-hub-polkadot-1006000.v15.scale',
};

// Only bare extrinsics are made of it: all that a signer adds is inside an extension that polkadot.js doesn't know.
export const MYTHOS = 'mythos-1015.v15.scale';

const loaded = new Map();

export function loadRuntime (file) {
  if (!loaded.has(file)) {
    loaded.set(file, readRuntime(file));
  }

  return loaded.get(file);
}

function readRuntime (file) {
  const registry = new TypeRegistry();
  const metadata = new Metadata(registry, u8aToHex(readFileSync(new URL(file, METADATA))));
  const empty = Object.fromEntries(VOID_EXTENSIONS.map((name) => [name, { extrinsic: {}, payload: {} }]));

  registry.setMetadata(metadata, undefined, empty);

  const { extrinsic, pallets } = metadata.asLatest;

  for (const { identifier, implicit, type } of extrinsic.transactionExtensions) {
    if (identifier.eq('ChargeAssetTxPayment')) {
      // polkadot.js has a type of its own for the asset, in which the networks beyond Kusama have other numbers than in the runtimes.
      const field = registry.lookup.getSiType(type).def.asComposite.fields.find(({ name }) => name.unwrap().eq('asset_id'));
      const charge = { extrinsic: { tip: 'Compact<Balance>', assetId: registry.createLookupType(field.type) }, payload: {} };

      registry.setSignedExtensions(extrinsic.transactionExtensions.map(({ identifier }) => identifier.toString()), { ...empty, ChargeAssetTxPayment: charge });
    }

    if (VOID_EXTENSIONS.includes(identifier.toString()) && file !== MYTHOS) {
      must(isEmpty(registry, type) && isEmpty(registry, implicit), `${file}: ${identifier} carries bytes`);
    }
  }

  const { consts, tx } = expandMetadata(registry, metadata);
  const version = consts.system.version;

  return {
    file,
    metadataVersion: metadata.version,
    pallets,
    registry,
    specVersion: version.specVersion.toNumber(),
    transactionVersion: version.transactionVersion.toNumber(),
    tx,
  };
}

function isEmpty (registry, id) {
  const { def } = registry.lookup.getSiType(id);

  return (def.isTuple && def.asTuple.length === 0) ||
    (def.isComposite && def.asComposite.fields.every(({ type }) => isEmpty(registry, type)));
}

// Builds a call; `args` in the notation of scenarioctl, names and nesting checked against the metadata, because
// polkadot.js fills in what is missing and passes over what it does not know.
export function buildCall (runtime, { args, method, pallet }) {
  const meta = runtime.pallets.find(({ name }) => name.eq(pallet));

  must(meta && meta.calls.isSome, `${runtime.file} has no pallet ${pallet}`);

  const variant = variantOf(runtime.registry, meta.calls.unwrap().type, method);

  sameKeys(args, variant.fields.map(({ name }) => name.unwrap().toString()), `${pallet}.${method}`);

  const values = variant.fields.map(({ name, type }) =>
    toPolkadot(runtime, type, args[name.unwrap().toString()], `${pallet}.${method}.${name.unwrap()}`)
  );

  return runtime.tx[stringCamelCase(pallet)][stringCamelCase(method)](...values);
}

function variantOf (registry, id, name) {
  const found = registry.lookup.getSiType(id).def.asVariant.variants.find((v) => v.name.eq(name));

  must(found, `no variant ${name} in type ${id}`);

  return found;
}

// Returns *value*, in the notation of scenarioctl, as polkadot.js wants it.  Only the notation changes: bytes are
// polkadot.js's business.
function toPolkadot (runtime, id, value, where) {
  const { registry } = runtime;
  const { def, path } = registry.lookup.getSiType(id);
  const last = path.length ? path[path.length - 1].toString() : '';
  const go = (type, inner, suffix) => toPolkadot(runtime, type, inner, `${where}${suffix}`);

  if (last === 'RuntimeCall') {
    const [[pallet, inner]] = Object.entries(value);
    const [method, args] = typeof inner === 'string' ? [inner, {}] : Object.entries(inner)[0];

    return buildCall(runtime, { args, method, pallet });
  }

  if (path.join('::') === 'primitive_types::U256') {
    must(/^[0-9]+$/.test(value), `${where} wants a whole number`);

    return value;
  }

  if (def.isPrimitive) {
    return primitive(def.asPrimitive, value, where);
  }

  if (def.isBitSequence) {
    return bits(value, where);
  }

  if (def.isCompact) {
    return go(def.asCompact.type, value, '');
  }

  if (def.isArray || def.isSequence) {
    const { type } = def.isArray ? def.asArray : def.asSequence;
    const item = registry.lookup.getSiType(type).def;

    if (item.isPrimitive && item.asPrimitive.isU8) {
      must(/^0x([0-9a-f]{2})*$/.test(value), `${where} wants 0x bytes`);
      must(def.isSequence || value.length === 2 + 2 * def.asArray.len.toNumber(), `${where} has the wrong length`);

      return value;
    }

    must(Array.isArray(value), `${where} wants a list`);
    must(def.isSequence || value.length === def.asArray.len.toNumber(), `${where} has the wrong length`);

    return value.map((inner, i) => go(type, inner, `[${i}]`));
  }

  if (def.isTuple) {
    if (def.asTuple.length === 0) {
      must(value === null, `${where} wants null`);

      return null;
    }

    must(Array.isArray(value) && value.length === def.asTuple.length, `${where} wants ${def.asTuple.length} values`);

    return def.asTuple.map((type, i) => go(type, value[i], `.${i}`));
  }

  if (def.isComposite) {
    const inner = fields(def.asComposite.fields, value, where, go);

    if (last === 'BTreeMap' || last === 'BoundedBTreeMap') {
      return new Map(inner);
    }

    // A bare number means a boolean to polkadot.js here.
    return last === 'Vote' ? new Uint8Array([inner]) : inner;
  }

  must(def.isVariant, `${where} is of a kind this script does not make`);

  if (last === 'Option') {
    return option(runtime, def.asVariant.variants[1].fields[0].type, value, go);
  }

  const [name, inner] = typeof value === 'string' ? [value, null] : onlyEntry(value, where);
  const variant = variantOf(registry, id, name);

  must((typeof value === 'string') === (variant.fields.length === 0), `${where}.${name} has the wrong form`);

  // Identity's data is a class of its own in polkadot.js, which finds the length by itself.
  if (last === 'Data') {
    return name === 'None' ? { None: null } : { Raw: go(variant.fields[0].type, inner, `.${name}`) };
  }

  return variant.fields.length ? { [name]: fields(variant.fields, inner, `${where}.${name}`, go) } : name;
}

// What is there reaches polkadot.js as an object of its own: in an option it takes null, and `0x` too, for nothing at all.
// An option of what may be null itself is written {"Some": …} where it is there.
function option (runtime, id, value, go) {
  const { registry } = runtime;

  if (value === null) {
    return null;
  }

  const some = canBeNull(registry, id) ? onlyEntry(value, 'Some')[1] : value;
  const type = registry.createLookupType(id);

  return new Option(registry, type, registry.createType(type, go(id, some, '')));
}

// Tells whether null is a value of the type: an option, nothing, or one of them alone in a wrapper.
export function canBeNull (registry, id) {
  const { def, path } = registry.lookup.getSiType(id);

  if (def.isTuple) {
    return def.asTuple.length === 0;
  }

  if (def.isComposite) {
    const { fields } = def.asComposite;

    return fields.length === 0 || (fields.length === 1 && fields[0].name.isNone && canBeNull(registry, fields[0].type));
  }

  return path.join('::') === 'Option';
}

// Bits come in text of whole bytes, the first bit lowest: all that polkadot.js takes without the length being encoded for it.
function bits (value, where) {
  must(/^([01]{8})*$/.test(value), `${where} wants whole bytes of 0 and 1`);

  const bytes = value.match(/.{8}/g) ?? [];

  return u8aToHex(Uint8Array.from(bytes, (eight) => parseInt([...eight].reverse().join(''), 2)));
}

function primitive (kind, value, where) {
  if (kind.isBool) {
    must(typeof value === 'boolean', `${where} wants true or false`);
  } else if (kind.isStr) {
    must(typeof value === 'string', `${where} wants text`);
  } else {
    must(Number.isSafeInteger(value) || (typeof value === 'string' && /^-?[0-9]+$/.test(value)), `${where} wants a whole number`);
  }

  return value;
}

function fields (list, value, where, go) {
  if (list.length === 0) {
    must(value === null, `${where} wants null`);

    return null;
  }

  if (list[0].name.isSome) {
    const names = list.map(({ name }) => name.unwrap().toString());

    sameKeys(value, names, where);

    return Object.fromEntries(list.map(({ type }, i) => [names[i], go(type, value[names[i]], `.${names[i]}`)]));
  }

  if (list.length === 1) {
    return go(list[0].type, value, '');
  }

  must(Array.isArray(value) && value.length === list.length, `${where} wants ${list.length} values`);

  return list.map(({ type }, i) => go(type, value[i], `.${i}`));
}

function onlyEntry (value, where) {
  const entries = Object.entries(value);

  must(entries.length === 1, `${where} wants one variant`);

  return entries[0];
}

function sameKeys (value, names, where) {
  must(
    value && typeof value === 'object' && JSON.stringify(Object.keys(value).sort()) === JSON.stringify([...names].sort()),
    `${where} wants ${names}, not ${value && Object.keys(value)}`
  );
}

export function must (truth, sentence) {
  if (!truth) {
    throw new Error(sentence);
  }
}

// The longest hex that goes into the file; beyond it a hash says the same.
const LONGEST = 4096;

export function hexOrHash (name, bytes) {
  return bytes.length <= LONGEST
    ? { [`${name}_hex`]: u8aToHex(bytes) }
    : { [`${name}_blake2_256`]: blake2AsHex(bytes, 256), [`${name}_length`]: bytes.length };
}

// What every vector of a call expects: the call and the bare extrinsic of version 4.
export function expectCall (runtime, call) {
  const extrinsic = runtime.registry.createType('Extrinsic', call, { version: 4 });

  return { ...hexOrHash('call', call.toU8a()), ...hexOrHash('extrinsic', extrinsic.toU8a()) };
}
