// Calls that one account makes as another: multisigs, whose accounts polkadot.js computes, and proxies, in each other.

import { u8aToHex } from '@polkadot/util';
import { createKeyMulti, decodeAddress, sortAddresses } from '@polkadot/util-crypto';
import { ALICE, BOB } from './calls.mjs';
import { buildCall, expectCall, loadRuntime, RUNTIMES } from './runtimes.mjs';

const CHARLIE = '0x90b5ab205c6974c9ea841be688864633dc9ca8a357843eeacf2314649965fe22';
const VAULT = `0x${'5c'.repeat(31)}01`;
const MANY = Array.from({ length: 100 }, (_, place) => `0x${(place + 1).toString(16).padStart(64, '0')}`);

const multisig = (threshold, ...signatories) => ({ signatories, threshold });
const proxy = (of, type) => ({ proxy_of: of, type });
const note = { System: { remark: { remark: '0x6869' } } };
const dot = { Balances: { transfer_keep_alive: { dest: { Id: BOB }, value: '10000000000' } } };
const hdx = { Balances: { transfer_keep_alive: { dest: BOB, value: '10000000000' } } };

// id, chain, the call, the layers around it, innermost first, and who signs.
const ACTING = [
  ['multisig', 'assetHub', dot, [multisig(2, ALICE, BOB, CHARLIE)], ALICE],
  ['multisig-unsorted', 'polkadot', dot, [multisig(2, CHARLIE, ALICE, BOB)], BOB],
  ['multisig-of-one', 'assetHub', note, [multisig(1, ALICE, CHARLIE)], CHARLIE],
  ['multisig-of-all', 'hydraDx', hdx, [multisig(3, ALICE, BOB, CHARLIE)], CHARLIE],
  ['multisig-of-many', 'kusama', note, [multisig(64, ...MANY)], MANY[63]],
  ['proxy', 'assetHub', dot, [proxy(VAULT, '')], ALICE],
  ['proxy-typed', 'polkadot', note, [proxy(VAULT, 'NonTransfer')], ALICE],
  ['proxy-hydration', 'hydraDx', hdx, [proxy(VAULT, 'Any')], ALICE],
  ['multisig-proxy', 'assetHub', dot, [proxy(VAULT, 'Any'), multisig(2, ALICE, BOB, CHARLIE)], CHARLIE],
  ['proxy-of-proxy', 'kusama', note, [proxy(VAULT, 'Any'), proxy(CHARLIE, 'Governance')], ALICE],
];

const accountOf = (layer) => layer.proxy_of ?? u8aToHex(createKeyMulti(layer.signatories, layer.threshold));

function wrap (chain, call, layer, signatory) {
  if (layer.proxy_of) {
    return { Proxy: { proxy: { call, force_proxy_type: layer.type || null, real: chain === 'hydraDx' ? layer.proxy_of : { Id: layer.proxy_of } } } };
  }

  const others = sortAddresses(layer.signatories.filter((each) => each !== signatory)).map((each) => u8aToHex(decodeAddress(each)));

  return layer.threshold === 1
    ? { Multisig: { as_multi_threshold_1: { call, other_signatories: others } } }
    : { Multisig: { as_multi: { call, max_weight: { proof_size: '0', ref_time: '0' }, maybe_timepoint: null, other_signatories: others, threshold: layer.threshold } } };
}

function built (chain, call) {
  const [[pallet, inner]] = Object.entries(call);
  const [[method, args]] = Object.entries(inner);

  return buildCall(loadRuntime(RUNTIMES[chain]), { args, method, pallet });
}

export function actingVectors () {
  return ACTING.map(([id, chain, call, layers, signer]) => {
    const signatories = [...layers.slice(1).map(accountOf), signer];
    const wrapped = layers.reduce((inner, layer, place) => wrap(chain, inner, layer, signatories[place]), call);

    return {
      id: `acting-${id}`, kind: 'acting', metadata: RUNTIMES[chain], chain, inner: built(chain, call).toHex(), layers, signer, account: accountOf(layers[0]),
      ...expectCall(loadRuntime(RUNTIMES[chain]), built(chain, wrapped)),
    };
  });
}
