// Calls in calls, and what the person who signs has to be told of them: every transfer inside, its amount and its receiver.

import { encodeAddress } from '@polkadot/util-crypto';
import { ALICE, BOB } from './calls.mjs';
import { buildCall, expectCall, loadRuntime, RUNTIMES } from './runtimes.mjs';

const CHARLIE = '0x90b5ab205c6974c9ea841be688864633dc9ca8a357843eeacf2314649965fe22';
const PREFIX = { assetHub: 0, hydraDx: 0, kusama: 2, polkadot: 0 };
const WEIGHT = { proof_size: '65536', ref_time: '1000000000' };
const hash = (byte) => `0x${byte.repeat(32)}`;
const id32 = (id) => ({ Id: id });
const parachain = (parents, id) => ({ interior: { X1: [{ Parachain: id }] }, parents });
const account = (id) => ({ interior: { X1: [{ AccountId32: { id, network: null } }] }, parents: 0 });
const fungible = (location, amount) => ({ fun: { Fungible: amount }, id: location });
const UP = { interior: 'Here', parents: 1 };

// A transfer, and what is to be told of it: `told` has the amount as a person reads it, and the receiver's address.
const transfer = (chain, call, amount, to) => ({ call, told: [amount, encodeAddress(to, PREFIX[chain])] });
const dot = (chain, value, amount, to) => transfer(chain, { Balances: { transfer_keep_alive: { dest: id32(to), value } } }, amount, to);
const ONE = dot('polkadot', '10000000000', '1 DOT', BOB);
const SMALL = dot('polkadot', '1', '0.0000000001 DOT', CHARLIE);
const HUB = dot('assetHub', '25000000000', '2.5 DOT', BOB);
const USDT = transfer('assetHub', { Assets: { transfer: { amount: '1500000', id: 1984, target: id32(CHARLIE) } } }, '1.5 USDt', CHARLIE);
const HDX = transfer('hydraDx', { Balances: { transfer_allow_death: { dest: BOB, value: '3000000000000' } } }, '3 HDX', BOB);
const DOT_5 = transfer('hydraDx', { Tokens: { transfer: { amount: '12345678900', currency_id: 5, dest: CHARLIE } } }, '1.23456789 DOT', CHARLIE);

const batch = (method, ...calls) => ({ Utility: { [method]: { calls } } });
const proxied = (real, call) => ({ Proxy: { proxy: { call, force_proxy_type: 'Any', real } } });
const multisig = (call) => ({ Multisig: { as_multi: { call, max_weight: WEIGHT, maybe_timepoint: null, other_signatories: [BOB, CHARLIE], threshold: 2 } } });
const transact = (chain, call) => ({
  Transact: { call: { encoded: built(chain, call).toHex() }, fallback_max_weight: null, origin_kind: 'SovereignAccount' },
});
const pay = { PayFees: { asset: fungible(UP, '5000000000') } };

function built (chain, call) {
  const [[pallet, inner]] = Object.entries(call);
  const [[method, args]] = Object.entries(inner);

  return buildCall(loadRuntime(RUNTIMES[chain]), { args, method, pallet });
}

// id, chain, call, transfers inside, other words that have to be there.
const NESTED = [
  ...['batch', 'batch_all', 'force_batch'].map((method) => [method, 'polkadot', batch(method, ONE.call, SMALL.call), [ONE, SMALL]]),
  ['as-derivative', 'polkadot', { Utility: { as_derivative: { call: ONE.call, index: 7 } } }, [ONE]],
  ['dispatch-as', 'polkadot', { Utility: { dispatch_as: { as_origin: { system: { Signed: ALICE } }, call: ONE.call } } }, [ONE], [encodeAddress(ALICE, 0)]],
  ['dispatch-as-origin', 'polkadot', { Utility: { dispatch_as: { as_origin: { Origins: 'SmallSpender' }, call: ONE.call } } }, [ONE], ['SmallSpender']],
  ['with-weight', 'polkadot', { Utility: { with_weight: { call: ONE.call, weight: WEIGHT } } }, [ONE]],
  ['if-else', 'polkadot', { Utility: { if_else: { fallback: SMALL.call, main: ONE.call } } }, [ONE, SMALL]],
  ['proxy', 'polkadot', proxied(id32(ALICE), batch('batch_all', ONE.call, SMALL.call)), [ONE, SMALL], [encodeAddress(ALICE, 0)]],
  ['proxy-announced', 'hydraDx', { Proxy: { proxy_announced: { call: DOT_5.call, delegate: BOB, force_proxy_type: null, real: ALICE } } }, [DOT_5]],
  ['proxy-announce', 'polkadot', { Proxy: { announce: { call_hash: hash('5a'), real: id32(ALICE) } } }, [], [hash('5a'), 'only the hash']],
  ['as-multi', 'assetHub', multisig(batch('batch', HUB.call, USDT.call)), [HUB, USDT], ['3 signatories']],
  ['as-multi-threshold-1', 'polkadot', { Multisig: { as_multi_threshold_1: { call: ONE.call, other_signatories: [BOB] } } }, [ONE]],
  ['approve-as-multi', 'polkadot', {
    Multisig: { approve_as_multi: { call_hash: hash('77'), max_weight: WEIGHT, maybe_timepoint: null, other_signatories: [BOB], threshold: 2 } },
  }, [], [hash('77'), 'only the hash']],
  ['schedule', 'polkadot', { Scheduler: { schedule: { call: ONE.call, maybe_periodic: null, priority: 0, when: 25000000 } } }, [ONE], ['at block 25000000']],
  ['schedule-named', 'polkadot', { Scheduler: { schedule_named: { call: ONE.call, id: hash('01'), maybe_periodic: [100, 5], priority: 0, when: 25000000 } } },
    [ONE], ['at block 25000000', 'every 100 blocks']],
  ['schedule-after', 'hydraDx', { Scheduler: { schedule_after: { after: 600, call: HDX.call, maybe_periodic: null, priority: 0 } } }, [HDX], ['after 600 blocks']],
  ['schedule-named-after', 'assetHub', {
    Scheduler: { schedule_named_after: { after: 1, call: USDT.call, id: hash('02'), maybe_periodic: null, priority: 0 } },
  }, [USDT], ['after 1 block']],
  ['deep', 'polkadot', proxied(id32(ALICE), multisig({ Utility: { as_derivative: { call: batch('batch_all', ONE.call, { Utility: { if_else: {
    fallback: SMALL.call, main: ONE.call,
  } } }), index: 1 } } })), [ONE, SMALL]],
  ['council', 'hydraDx', { TechnicalCommittee: { propose: { length_bound: 100, proposal: HDX.call, threshold: 3 } } }, [HDX]],
  ['treasury', 'hydraDx', { Dispatcher: { dispatch_as_treasury: { call: DOT_5.call } } }, [DOT_5]],
  ['referendum', 'assetHub', {
    Referenda: { submit: {
      enactment_moment: { After: 100 }, proposal: { Inline: built('assetHub', HUB.call).toHex() }, proposal_origin: { Origins: 'SmallSpender' },
    } },
  }, [HUB]],
  ['referendum-lookup', 'assetHub', {
    Referenda: { submit: { enactment_moment: { After: 100 }, proposal: { Lookup: { hash: hash('ab'), len: 9 } }, proposal_origin: { system: 'Root' } } },
  }, [], [hash('ab'), 'only the hash']],
  ['preimage', 'assetHub', { Preimage: { note_preimage: { bytes: built('assetHub', batch('batch_all', HUB.call, USDT.call)).toHex() } } }, [HUB, USDT]],
  ['transfer-assets', 'assetHub', batch('batch_all', { PolkadotXcm: { transfer_assets: {
    assets: { V5: [fungible(UP, '70000000000')] }, beneficiary: { V5: account(BOB) }, dest: { V5: parachain(1, 2034) }, fee_asset_item: 0, weight_limit: 'Unlimited',
  } } }, USDT.call), [{ told: ['7 DOT', encodeAddress(BOB, 0)] }, USDT], ['hydraDx']],
  ['custom-xcm-on-dest', 'assetHub', { PolkadotXcm: { transfer_assets_using_type_and_then: {
    assets: { V5: [fungible(UP, '70000000000')] }, assets_transfer_type: 'LocalReserve', dest: { V5: parachain(1, 2034) }, fees_transfer_type: 'LocalReserve',
    custom_xcm_on_dest: { V5: [
      transact('hydraDx', batch('batch_all', HDX.call, DOT_5.call)), { DepositAsset: { assets: { Wild: { AllCounted: 1 } }, beneficiary: account(CHARLIE) } },
    ] },
    remote_fees_id: { V5: UP }, weight_limit: 'Unlimited',
  } } }, [HDX, DOT_5, { told: ['7 DOT', encodeAddress(CHARLIE, 0)] }], ['hydradx 428']],
  ['execute', 'assetHub', { PolkadotXcm: { execute: { max_weight: WEIGHT, message: { V5: [
    { WithdrawAsset: [fungible(UP, '70000000000')] }, pay, { TransferAsset: { assets: [fungible(UP, '20000000000')], beneficiary: account(CHARLIE) } },
    { DepositAsset: { assets: { Wild: 'All' }, beneficiary: account(BOB) } },
  ] } } } }, [{ told: ['7 DOT', encodeAddress(BOB, 0)] }, { told: ['2 DOT', encodeAddress(CHARLIE, 0)] }]],
  ['send-transact', 'polkadot', { XcmPallet: { send: { dest: { V5: parachain(0, 1000) }, message: { V5: [
    { UnpaidExecution: { check_origin: null, weight_limit: 'Unlimited' } }, transact('assetHub', batch('batch_all', HUB.call, USDT.call)),
  ] } } } }, [HUB, USDT], ['assetHub', 'statemint 2003001']],
  ['send-transact-nested', 'polkadot', batch('batch_all', ONE.call, { XcmPallet: { send: { dest: { V5: parachain(0, 1000) }, message: { V5: [
    transact('assetHub', { PolkadotXcm: { send: { dest: { V5: parachain(1, 2034) }, message: { V5: [transact('hydraDx', HDX.call)] } } } }),
  ] } } } }), [ONE, HDX], ['statemint 2003001', 'hydradx 428']],
  ['send-transact-v3', 'assetHub', { PolkadotXcm: { send: { dest: { V3: { interior: { X1: { Parachain: 2034 } }, parents: 1 } }, message: { V3: [
    { Transact: { call: { encoded: built('hydraDx', HDX.call).toHex() }, origin_kind: 'SovereignAccount', require_weight_at_most: WEIGHT } },
  ] } } } }, [HDX]],
  ['send-transact-unknown', 'assetHub', { PolkadotXcm: { send: { dest: { V5: parachain(1, 4000) }, message: { V5: [transact('hydraDx', HDX.call)] } } } },
    [], ['Parachain(4000)', 'not decoded', 'not known']],
  ['send-transact-no-call', 'assetHub', { PolkadotXcm: { send: { dest: { V5: parachain(1, 2034) }, message: { V5: [
    { Transact: { call: { encoded: '0xffff00' }, fallback_max_weight: null, origin_kind: 'Native' } },
  ] } } } }, [], ['not a call of hydradx 428']],
  ['forced', 'assetHub', batch('batch_all',
    { Balances: { force_transfer: { dest: id32(BOB), source: id32(ALICE), value: '25000000000' } } },
    { Assets: { transfer_approved: { amount: '1500000', destination: id32(CHARLIE), id: 1984, owner: id32(ALICE) } } },
    { Assets: { transfer_all: { dest: id32(CHARLIE), id: 1984, keep_alive: false } } },
    { PoolAssets: { transfer: { amount: '9', id: 1984, target: id32(BOB) } } },
    { Uniques: { transfer: { collection: 3, dest: id32(BOB), item: 4 } } },
    { Vesting: { vested_transfer: { schedule: { locked: '1000000000000', per_block: '10000000000', starting_block: 5 }, target: id32(CHARLIE) } } },
  ), [HUB, USDT, { told: ['100 DOT', encodeAddress(CHARLIE, 0)] }], [encodeAddress(ALICE, 0), 'all USDt', 'pool asset 1984', 'item 4 of collection 3']],
  ['xtokens', 'hydraDx', batch('batch',
    { XTokens: { transfer: { amount: '12345678900', currency_id: 5, dest: { V4: {
      interior: { X2: [{ Parachain: 1000 }, { AccountId32: { id: CHARLIE, network: null } }] }, parents: 1,
    } }, dest_weight_limit: 'Unlimited' } } },
    { XTokens: { transfer_multiasset: { asset: { V4: fungible(UP, '70000000000') }, dest: { V4: {
      interior: { X1: [{ AccountId32: { id: BOB, network: null } }] }, parents: 1,
    } }, dest_weight_limit: 'Unlimited' } } },
  ), [DOT_5, { told: ['7 DOT', encodeAddress(BOB, 0)] }], ['on Polkadot Asset Hub', 'on Polkadot']],
  ['swap-to-another', 'assetHub', { AssetConversion: { swap_exact_tokens_for_tokens: {
    amount_in: '25000000000', amount_out_min: '1500000', keep_alive: true, send_to: BOB,
    path: [UP, { interior: { X2: [{ PalletInstance: 50 }, { GeneralIndex: '1984' }] }, parents: 0 }],
  } } }, [HUB], ['1.5 USDt']],
];

export function nestedVectors () {
  return NESTED.map(([id, chain, call, transfers, words = []]) => {
    const [[pallet, inner]] = Object.entries(call);
    const [[method, args]] = Object.entries(inner);
    const runtime = loadRuntime(RUNTIMES[chain]);

    return {
      id: `nested-${id}`, kind: 'nested', metadata: RUNTIMES[chain], chain, pallet, method,
      transfers: transfers.map(({ told }) => told), words, ...expectCall(runtime, built(chain, call)),
    };
  });
}
