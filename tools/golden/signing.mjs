// What is signed, what comes of it, and how long it lives.

import { u8aToHex } from '@polkadot/util';
import { blake2AsHex, blake2AsU8a } from '@polkadot/util-crypto';
import { ALICE, BOB } from './calls.mjs';
import { buildCall, hexOrHash, loadRuntime, must, OLDER, RUNTIMES } from './runtimes.mjs';

const U128_MAX = (2n ** 128n - 1n).toString();

// Any 32 bytes would do; these say where they come from.
const made = (words) => blake2AsHex(words, 256);

const text = (value) => u8aToHex(new TextEncoder().encode(value));
const remark = (words) => ({ args: { remark: text(words) }, method: 'remark', pallet: 'System' });
const transfer = (chain) => ({
  args: { dest: chain === 'hydraDx' ? BOB : { Id: BOB }, value: '10000000000' }, method: 'transfer_keep_alive', pallet: 'Balances',
});

// Assets that pay a fee on an Asset Hub: its own, a parachain's, one from beyond a bridge.
// They are given as the tool writes locations, and as polkadot.js takes them.
export const FEE_ASSETS = {
  usdt: ['0/PalletInstance(50)/GeneralIndex(1984)', { interior: { X2: [{ PalletInstance: 50 }, { GeneralIndex: '1984' }] }, parents: 0 }],
  parachain: ['1/Parachain(2034)', { interior: { X1: [{ Parachain: 2034 }] }, parents: 1 }],
  bridged: ['2/GlobalConsensus(Ethereum:1)/AccountKey20(0xdac17f958d2ee523a2206206994597c13d831ec7)', {
    interior: { X2: [{ GlobalConsensus: { Ethereum: { chainId: 1 } } }, { AccountKey20: { key: '0xdac17f958d2ee523a2206206994597c13d831ec7', network: null } }] },
    parents: 2,
  }],
};

// The call alone is 2 + 2 + size bytes: the last of these lie on both sides of the 256 bytes from which on the payload is hashed.
export const CALLS = (chain) => ({
  long: remark('x'.repeat(300)),
  short: remark('hello'),
  transfer: transfer(chain),
});

// period, block at which it is signed.
const ERAS = [
  [4, 0], [4, 3], [4, 5], [8, 1000], [32, 31], [64, 0], [64, 42], [64, 63], [64, 64], [64, 20000000], [128, 25123456], [1024, 20001], [2400, 20000000],
  [4096, 4095], [4096, 20000000], [8192, 20000000], [32768, 19999999], [65536, 0], [65536, 65535], [65536, 4294967295],
];

export function eraHex (registry, era) {
  return era ? registry.createType('ExtrinsicEra', { current: era[1], period: era[0] }).toHex() : '0x00';
}

export function options (chain, { feeAsset, era, mode, nonce, tip }) {
  return {
    ...(feeAsset && { assetId: feeAsset[1] }),
    blockHash: era ? made(`${chain} block ${era[1]}`) : made(`${chain} genesis`),
    genesisHash: made(`${chain} genesis`),
    metadataHash: mode ? made(`${chain} metadata`) : null,
    mode,
    nonce,
    tip,
  };
}

function payload (id, chain, metadata, call, given) {
  const runtime = loadRuntime(metadata);
  const { registry } = runtime;
  const built = buildCall(runtime, call);
  const o = options(chain, given);
  const bytes = registry.createType('ExtrinsicPayload', {
    ...o, era: eraHex(registry, given.era), method: built.toHex(), specVersion: runtime.specVersion, transactionVersion: runtime.transactionVersion,
  }, { version: 4 }).toU8a({ method: true });

  return {
    id: `payload-${id}`,
    kind: 'signing-payload',
    metadata,
    chain,
    spec_version: runtime.specVersion,
    transaction_version: runtime.transactionVersion,
    ...call,
    call_hex: built.toHex(),
    era: given.era ? { current: given.era[1], period: given.era[0] } : null,
    era_hex: eraHex(registry, given.era),
    nonce: o.nonce,
    tip: o.tip,
    ...(given.feeAsset && { fee_asset: given.feeAsset[0] }),
    mode: o.mode,
    metadata_hash: o.metadataHash,
    genesis_hash: o.genesisHash,
    block_hash: o.blockHash,
    ...hexOrHash('payload', bytes),
    to_sign_hex: u8aToHex(bytes.length > 256 ? blake2AsU8a(bytes, 256) : bytes),
  };
}

function payloadVectors () {
  const vectors = [];
  const plain = { era: null, mode: 0, nonce: 0, tip: '0' };

  for (const [chain, metadata] of [...Object.entries(RUNTIMES), ['polkadot', OLDER.polkadotV14], ['assetHub', OLDER.assetHubV15]]) {
    const name = RUNTIMES[chain] === metadata ? chain : metadata.split('.')[0];
    const calls = CALLS(chain);

    vectors.push(
      payload(`${name}-plain`, chain, metadata, calls.short, plain),
      payload(`${name}-mortal`, chain, metadata, calls.transfer, { era: [64, 20000000], mode: 0, nonce: 7, tip: '0' }),
      payload(`${name}-metadata-hash`, chain, metadata, calls.transfer, { era: [64, 42], mode: 1, nonce: 63, tip: '1' }),
      payload(`${name}-hashed`, chain, metadata, calls.long, { era: [4096, 20000000], mode: 1, nonce: 64, tip: '1000000000000' })
    );
  }

  for (const [name, feeAsset] of Object.entries(FEE_ASSETS)) {
    vectors.push(
      payload(`fee-in-${name}`, 'assetHub', RUNTIMES.assetHub, CALLS('assetHub').short, { ...plain, feeAsset }),
      payload(`fee-in-${name}-kusama`, 'assetHub_kusama', RUNTIMES.assetHub_kusama, CALLS('assetHub_kusama').transfer, { era: [64, 42], feeAsset, mode: 1, nonce: 63, tip: '1' })
    );
  }

  for (const nonce of [0, 1, 63, 64, 16383, 16384, 1073741823, 1073741824, 4294967295]) {
    vectors.push(payload(`nonce-${nonce}`, 'polkadot', RUNTIMES.polkadot, CALLS('polkadot').short, { ...plain, nonce }));
  }

  for (const tip of ['0', '1', '63', '64', '1000000000000', '18446744073709551616', U128_MAX]) {
    vectors.push(payload(`tip-${tip}`, 'assetHub', RUNTIMES.assetHub, CALLS('assetHub').short, { ...plain, tip }));
  }

  for (const era of ERAS) {
    vectors.push(payload(`era-${era.join('-at-')}`, 'hydraDx', RUNTIMES.hydraDx, CALLS('hydraDx').short, { ...plain, era }));
  }

  // 256 bytes are signed as they are, 257 as their hash.
  for (const want of [255, 256, 257]) {
    const { args, ...rest } = remark('');
    const empty = payload('', 'polkadot', RUNTIMES.polkadot, { args, ...rest }, plain).payload_hex.length / 2 - 1;
    const sized = remark('x'.repeat(want - empty - 1));
    const vector = payload(`${want}-bytes`, 'polkadot', RUNTIMES.polkadot, sized, plain);

    must(vector.payload_hex.length === 2 + 2 * want, `payload of ${vector.payload_hex.length / 2 - 1} bytes, wanted ${want}`);
    vectors.push(vector);
  }

  return vectors;
}

function eraVectors () {
  const { registry } = loadRuntime(RUNTIMES.polkadot);

  return ERAS.map((era) => {
    const decoded = registry.createType('ExtrinsicEra', eraHex(registry, era)).asMortalEra;

    return {
      id: `era-${era.join('-at-')}`,
      kind: 'era',
      period: era[0],
      current: era[1],
      era_hex: eraHex(registry, era),
      // What it means once read back: a period that is no power of two has become the next one.
      decoded_period: decoded.period.toNumber(),
      decoded_phase: decoded.phase.toNumber(),
      birth: decoded.birth(era[1]),
      death: decoded.death(era[1]),
    };
  });
}

const SIGNATURES = { Ecdsa: ['02', 65], Ed25519: ['00', 64], Sr25519: ['01', 64] };

function signed (id, chain, metadata, call, kind, given) {
  const runtime = loadRuntime(metadata);
  const { registry } = runtime;
  const built = buildCall(runtime, call);
  const o = options(chain, given);
  const [prefix, length] = SIGNATURES[kind];
  const signature = Array.from({ length }, (_, i) => (i % 251).toString(16).padStart(2, '0')).join('');
  const extrinsic = registry.createType('Extrinsic', built, { version: 4 });

  extrinsic.addSignature(ALICE, `0x${prefix}${signature}`, {
    ...o, era: eraHex(registry, given.era), method: built.toHex(), specVersion: runtime.specVersion, transactionVersion: runtime.transactionVersion,
  });

  return {
    id: `signed-${id}`,
    kind: 'signed-extrinsic',
    metadata,
    chain,
    ...call,
    call_hex: built.toHex(),
    signer: ALICE,
    signature_kind: kind,
    signature: `0x${signature}`,
    era: given.era ? { current: given.era[1], period: given.era[0] } : null,
    era_hex: eraHex(registry, given.era),
    nonce: o.nonce,
    tip: o.tip,
    ...(given.feeAsset && { fee_asset: given.feeAsset[0] }),
    mode: o.mode,
    extrinsic_hex: extrinsic.toHex(),
    extrinsic_hash: extrinsic.hash.toHex(),
  };
}

function signedVectors () {
  const vectors = [];
  const files = [...Object.entries(RUNTIMES), ['polkadot', OLDER.polkadotV14], ['polkadot', OLDER.polkadotV15], ['assetHub', OLDER.assetHubV15]];

  for (const [chain, metadata] of files) {
    const name = RUNTIMES[chain] === metadata ? chain : metadata.split('.')[0];

    vectors.push(
      signed(`${name}-sr25519`, chain, metadata, transfer(chain), 'Sr25519', { era: [64, 20000000], mode: 0, nonce: 7, tip: '0' }),
      signed(`${name}-ed25519`, chain, metadata, remark('hello'), 'Ed25519', { era: null, mode: 0, nonce: 0, tip: '1' }),
      ...(name.startsWith('assetHub')
        ? [signed(`${name}-fee-in-usdt`, chain, metadata, transfer(chain), 'Sr25519', { era: [64, 20000000], feeAsset: FEE_ASSETS.usdt, mode: 0, nonce: 7, tip: '0' })]
        : []),
      signed(`${name}-ecdsa`, chain, metadata, remark('x'.repeat(300)), 'Ecdsa', { era: [65536, 65535], mode: 1, nonce: 4294967295, tip: U128_MAX })
    );
  }

  return vectors;
}

// Version 5, of the runtimes that declare it: without anything, and with transaction extensions but no signature of the old kind.
function versionFiveVectors () {
  return ['assetHub', 'hydraDx'].flatMap((chain) => {
    const runtime = loadRuntime(RUNTIMES[chain]);
    const call = transfer(chain);
    const built = buildCall(runtime, call);
    const given = { era: [64, 20000000], mode: 1, nonce: 16384, tip: '1000000000000' };
    const payload = { ...options(chain, given), era: eraHex(runtime.registry, given.era), method: built.toHex() };
    const whole = { kind: 'extrinsic-v5', metadata: runtime.file, chain, ...call, call_hex: built.toHex() };
    const general = runtime.registry.createType('GeneralExtrinsic', { payload, transactionExtensionVersion: 0 }, { version: 5 });

    return [
      { id: `v5-bare-${chain}`, ...whole, form: 'bare', extrinsic_hex: runtime.registry.createType('Extrinsic', built, { version: 5 }).toHex() },
      {
        id: `v5-general-${chain}`, ...whole, form: 'general', era_hex: payload.era, nonce: given.nonce, tip: given.tip, mode: given.mode,
        extrinsic_hex: general.toHex(),
      },
    ];
  });
}

export function signingVectors () {
  return [...payloadVectors(), ...signedVectors(), ...versionFiveVectors(), ...eraVectors()];
}
