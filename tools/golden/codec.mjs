// Types of our own making, one value each: a codec by type table, checked without any runtime.
//
// `type` is written as a tree: a primitive's name, or {"compact": t}, {"option": t}, {"vec": t}, {"array": [t, n]}, {"tuple": [t, …]},
// {"struct": {name: t}}, {"enum": {Name: t or null}}, {"map": [k, v]}, {"bits": [store, order]}.

import { BitVec, Option, TypeRegistry } from '@polkadot/types';
import { compactFromU8a, hexToU8a, u8aToHex } from '@polkadot/util';
import { randomNumbers } from './random.mjs';
import { must } from './runtimes.mjs';

const registry = new TypeRegistry();

const INTEGERS = ['u8', 'u16', 'u32', 'u64', 'u128', 'u256', 'i8', 'i16', 'i32', 'i64', 'i128', 'i256'];

function range (name) {
  const bits = BigInt(name.slice(1));

  return name[0] === 'u' ? [0n, 2n ** bits - 1n] : [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n];
}

// ---- Fixed cases

function fixed () {
  const cases = [];

  for (const name of INTEGERS) {
    const [least, most] = range(name);

    for (const value of new Set([least, -1n, 0n, 1n, most - 1n, most])) {
      if (value >= least) {
        cases.push([name, `${value}`]);
      }
    }
  }

  for (const name of ['u8', 'u16', 'u32', 'u64', 'u128']) {
    for (const value of [0n, 63n, 64n, 255n, 256n, 16383n, 16384n, 2n ** 30n - 1n, 2n ** 30n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 56n, 2n ** 64n - 1n, 2n ** 64n, 2n ** 128n - 1n]) {
      if (value <= range(name)[1]) {
        cases.push([{ compact: name }, `${value}`]);
      }
    }
  }

  for (const value of ['', 'a', 'héllo', '👩‍🚀', 'x'.repeat(64)]) {
    cases.push(['str', value]);
  }

  return [
    ...cases,
    ['bool', true], ['bool', false],
    [{ option: 'bool' }, null], [{ option: 'bool' }, true], [{ option: 'bool' }, false],
    [{ option: 'u32' }, null], [{ option: 'u32' }, '7'],
    [{ option: { option: 'u8' } }, null], [{ option: { option: 'u8' } }, { Some: null }], [{ option: { option: 'u8' } }, { Some: '5' }],
    [{ option: { option: 'bool' } }, { Some: false }],
    [{ option: { compact: 'u128' } }, '16384'],
    [{ vec: 'u8' }, '0x'], [{ vec: 'u8' }, '0x00ff'], [{ vec: 'u8' }, `0x${'ab'.repeat(64)}`],
    [{ array: ['u8', 4] }, '0x01020304'], [{ array: ['u16', 3] }, ['1', '2', '65535']], [{ array: ['u32', 0] }, []],
    [{ vec: 'u16' }, []], [{ vec: 'u16' }, ['1', '256']], [{ vec: { compact: 'u32' } }, ['1', '64', '16384', '1073741824']],
    [{ vec: { vec: 'u8' } }, ['0x', '0x01', '0x0203']], [{ vec: { option: 'bool' } }, [true, false, null]],
    [{ vec: { tuple: ['u32', 'bool', 'str'] } }, [['1', true, 'a'], ['2', false, '']]],
    [{ tuple: ['u8', { compact: 'u64' }] }, ['1', '18446744073709551615']],
    [{ tuple: ['u8', { tuple: ['i8', { option: 'i16' }] }] }, ['255', ['-128', '-32768']]],
    [{ struct: { first: 'u8', second_field: { option: 'str' }, third: { vec: 'u16' } } }, { first: '1', second_field: 'x', third: ['2'] }],
    [{ struct: { amount: { compact: 'u128' }, keep: 'bool' } }, { amount: '340282366920938463463374607431768211455', keep: true }],
    [{ enum: { Nothing: null, Number: 'u32', Pair: { tuple: ['u8', 'u8'] } } }, 'Nothing'],
    [{ enum: { Nothing: null, Number: 'u32', Pair: { tuple: ['u8', 'u8'] } } }, { Number: '4294967295' }],
    [{ enum: { Nothing: null, Nested: { enum: { Inner: { option: 'u8' }, Other: null } } } }, { Nested: { Inner: '9' } }],
    [{ enum: { Nothing: null, Nested: { enum: { Inner: { option: 'u8' }, Other: null } } } }, { Nested: 'Other' }],
    [{ map: ['u32', 'str'] }, []], [{ map: ['u32', 'str'] }, [['1', 'a'], ['2', 'b'], ['300', '']]],
    [{ map: ['u8', { vec: 'u16' }] }, [['0', ['1']], ['255', []]]],
  ];
}

// ---- Random ones

const WORDS = ['', 'a', 'DOT', 'é', '🦀', 'a longer piece of text, longer than sixty-three bytes in its encoding'];

function randomType (pick, depth) {
  const leaf = () => ['bool', 'str', ...INTEGERS][pick(INTEGERS.length + 2)];

  if (depth === 0) {
    return leaf();
  }

  const inner = () => randomType(pick, depth - 1);

  switch (pick(9)) {
    case 0: return { compact: ['u8', 'u16', 'u32', 'u64', 'u128'][pick(5)] };
    case 1: return { option: inner() };
    case 2: return { vec: inner() };
    case 3: return { array: [inner(), pick(4)] };
    case 4: return { tuple: Array.from({ length: 2 + pick(3) }, inner) };
    case 5: return { struct: Object.fromEntries(['alpha', 'beta_gamma', 'delta'].slice(0, 2 + pick(2)).map((name) => [name, inner()])) };
    case 6: return { enum: { First: null, Second: inner(), Third: { tuple: [inner(), inner()] } } };
    case 7: return { vec: 'u8' };
    default: return leaf();
  }
}

function randomValue (pick, type) {
  if (type === 'bool') {
    return pick(2) === 1;
  }

  if (type === 'str') {
    return WORDS[pick(WORDS.length)];
  }

  if (typeof type === 'string') {
    const [least, most] = range(type);
    let value = 0n;

    for (let i = 0; i < 9; i++) {
      value = value * 2n ** 31n + BigInt(pick(2 ** 31));
    }

    // Small numbers are as likely as large ones, on both sides of zero.
    const size = (value >> BigInt(pick(279))) % (most + 1n);

    return `${least < 0n && pick(2) ? -1n - size : size}`;
  }

  const [[kind, inner]] = Object.entries(type);
  const many = (length) => Array.from({ length }, () => randomValue(pick, inner));
  const bytes = (length) => `0x${Array.from({ length }, () => pick(256).toString(16).padStart(2, '0')).join('')}`;

  switch (kind) {
    case 'compact': return randomValue(pick, inner);
    case 'option': {
      const there = pick(3) > 0;
      const nested = inner.option !== undefined;
      const value = there ? randomValue(pick, inner) : null;

      return there && nested ? { Some: value } : value;
    }
    case 'vec': return inner === 'u8' ? bytes(pick(70)) : many(pick(4));
    case 'array': return inner[0] === 'u8' ? bytes(inner[1]) : Array.from({ length: inner[1] }, () => randomValue(pick, inner[0]));
    case 'tuple': return inner.map((one) => randomValue(pick, one));
    case 'struct': return Object.fromEntries(Object.entries(inner).map(([name, one]) => [name, randomValue(pick, one)]));
    default: {
      const name = ['First', 'Second', 'Third'][pick(3)];

      return inner[name] === null ? name : { [name]: randomValue(pick, inner[name]) };
    }
  }
}

// ---- Into polkadot.js

function typeName (type) {
  if (typeof type === 'string') {
    return { str: 'Text' }[type] ?? type;
  }

  const [[kind, inner]] = Object.entries(type);

  switch (kind) {
    case 'compact': return `Compact<${inner}>`;
    case 'option': return `Option<${typeName(inner)}>`;
    case 'vec': return inner === 'u8' ? 'Bytes' : `Vec<${typeName(inner)}>`;
    case 'array': return `[${typeName(inner[0])};${inner[1]}]`;
    case 'tuple': return `(${inner.map(typeName).join(',')})`;
    case 'map': return `BTreeMap<${inner.map(typeName).join(',')}>`;
    case 'struct': return JSON.stringify(Object.fromEntries(Object.entries(inner).map(([name, one]) => [name, typeName(one)])));
    default: return JSON.stringify({ _enum: Object.fromEntries(Object.entries(inner).map(([name, one]) => [name, one === null ? 'Null' : typeName(one)])) });
  }
}

function toCodec (type, value) {
  const name = typeName(type);

  if (typeof type === 'string') {
    return registry.createType(name, value);
  }

  const [[kind, inner]] = Object.entries(type);

  switch (kind) {
    case 'option': {
      if (value === null) {
        return registry.createType(name, null);
      }

      const some = inner.option !== undefined ? value.Some : value;

      return new Option(registry, typeName(inner), toCodec(inner, some));
    }
    case 'vec': return registry.createType(name, inner === 'u8' ? value : value.map((one) => toCodec(inner, one)));
    case 'array': return registry.createType(name, inner[0] === 'u8' ? value : value.map((one) => toCodec(inner[0], one)));
    case 'tuple': return registry.createType(name, value.map((one, i) => toCodec(inner[i], one)));
    case 'map': return registry.createType(name, new Map(value.map(([k, v]) => [toCodec(inner[0], k), toCodec(inner[1], v)])));
    case 'struct': return registry.createType(name, Object.fromEntries(Object.entries(inner).map(([key, one]) => [key, toCodec(one, value[key])])));
    case 'enum': {
      if (typeof value === 'string') {
        return registry.createType(name, value);
      }

      const [[variant, one]] = Object.entries(value);

      return registry.createType(name, { [variant]: toCodec(inner[variant], one) });
    }
    default: return registry.createType(name, value);
  }
}

function codec (id, type, value) {
  const encoded = toCodec(type, value).toU8a();
  const again = registry.createType(typeName(type), encoded).toU8a();

  must(u8aToHex(encoded) === u8aToHex(again), `${id}: polkadot.js does not read back its own bytes: ${JSON.stringify({ encoded: u8aToHex(encoded), type, value })}`);

  return { id: `codec-${id}`, kind: 'codec', type, type_name: typeName(type), value, hex: u8aToHex(encoded) };
}

// Bit sequences the other way round: polkadot.js reads the bytes and says which bits they are.  What lies beyond the length
// is 0 in all of them, since no encoder makes others: hence the bytes that differ by order.
function bitVectors () {
  const cases = {
    Lsb0: ['0x00', '0x0400', '0x0401', '0x1415', '0x1c01', '0x20ff', '0x2001', '0x240101', '0x3cff7f', '0x400ff0', `0x0101${'a5'.repeat(8)}`],
    Msb0: ['0x00', '0x0400', '0x0480', '0x14a8', '0x1c80', '0x20ff', '0x2001', '0x240180', '0x3cfffe', '0x400ff0', `0x0101${'a5'.repeat(8)}`],
  };

  return Object.entries(cases).flatMap(([order, hexes]) => hexes.map((hex) => {
    const bytes = hexToU8a(hex);
    const bits = new BitVec(registry, bytes, order === 'Msb0').toBoolArray();
    const value = bits.slice(0, compactFromU8a(bytes)[1].toNumber()).map((bit) => bit ? '1' : '0').join('');

    return { id: `codec-bits-${order}-${hex.slice(2, 8)}`, kind: 'codec', type: { bits: ['u8', order] }, type_name: `BitVec<u8, ${order}>`, value, hex };
  }));
}

export function codecVectors () {
  const pick = randomNumbers(20261120);
  const vectors = fixed().map(([type, value], i) => codec(`${String(i).padStart(3, '0')}`, type, value));

  for (let i = 0; i < 120; i++) {
    const type = randomType(pick, 1 + (i % 3));

    vectors.push(codec(`random-${String(i).padStart(3, '0')}`, type, randomValue(pick, type)));
  }

  return [...vectors, ...bitVectors()];
}
