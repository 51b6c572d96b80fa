// What `scenarioctl call` and `batch` are given on a line, and the calls that are meant.

import { encodeAddress } from '@polkadot/util-crypto';
import { u8aToHex } from '@polkadot/util';
import { ALICE, BOB } from './calls.mjs';
import { buildCall, expectCall, loadRuntime, RUNTIMES } from './runtimes.mjs';

const id32 = (id) => ({ Id: id });
const text = (value) => u8aToHex(new TextEncoder().encode(value));
const U128_MAX = (2n ** 128n - 1n).toString();
const bob = encodeAddress(BOB, 0);
const pay = (chain, value) => built(chain, 'Balances', 'transfer_keep_alive', { dest: chain === 'hydraDx' ? BOB : id32(BOB), value });
const note = (chain, words) => built(chain, 'System', 'remark', { remark: text(words) });
const remark = (words) => ({ System: { remark: { remark: text(words) } } });

function built (chain, pallet, method, args) {
  return buildCall(loadRuntime(RUNTIMES[chain]), { args, method, pallet });
}

// id, chain, pallet and method as typed, the words behind them, and what is meant.
const LINES = [
  ['transfer', 'polkadot', 'balances', 'transferKeepAlive', [bob, '10000000000'],
    'Balances', 'transfer_keep_alive', { dest: id32(BOB), value: '10000000000' }],
  ['transfer-hyphens', 'assetHub', 'foreign-assets', 'transfer-keep-alive', ['{"parents": 1, "interior": {"X1": [{"Parachain": 2034}]}}', BOB, '7'],
    'ForeignAssets', 'transfer_keep_alive', { amount: '7', id: { interior: { X1: [{ Parachain: 2034 }] }, parents: 1 }, target: id32(BOB) }],
  ['largest', 'hydraDx', 'OMNIPOOL', 'SELL', ['5', '0', U128_MAX, '0'], 'Omnipool', 'sell', { amount: U128_MAX, asset_in: 5, asset_out: 0, min_buy_amount: '0' }],
  ['text', 'polkadot', 'System', 'remark_with_event', ['hello 🦀'], 'System', 'remark_with_event', { remark: text('hello 🦀') }],
  ['hex', 'hydraDx', 'System', 'remark', ['0xdeadbeef'], 'System', 'remark', { remark: '0xdeadbeef' }],
  ['no-arguments', 'assetHub', 'Staking', 'chill', [], 'Staking', 'chill', {}],
  ['unit-variant', 'assetHub', 'Staking', 'bond', ['2500000000000', 'staked'], 'Staking', 'bond', { payee: 'Staked', value: '2500000000000' }],
  ['variant-in-json', 'assetHub', 'Staking', 'bond', ['2500000000000', `{"Account": "${bob}"}`], 'Staking', 'bond', { payee: { Account: BOB }, value: '2500000000000' }],
  ['option-none', 'polkadot', 'Proxy', 'proxy', [bob, 'null', note('polkadot', 'x').toHex()],
    'Proxy', 'proxy', { call: remark('x'), force_proxy_type: null, real: id32(BOB) }],
  ['option-some', 'polkadot', 'Proxy', 'proxy', [bob, 'any', note('polkadot', 'x').toHex()],
    'Proxy', 'proxy', { call: remark('x'), force_proxy_type: 'Any', real: id32(BOB) }],
  ['call-in-an-extrinsic', 'polkadot', 'Utility', 'as_derivative', ['3', loadRuntime(RUNTIMES.polkadot).registry.createType('Extrinsic', note('polkadot', 'x'), { version: 4 }).toHex()],
    'Utility', 'as_derivative', { call: remark('x'), index: 3 }],
  ['list', 'assetHub', 'Staking', 'nominate', [JSON.stringify([encodeAddress(ALICE, 42), BOB])], 'Staking', 'nominate', { targets: [id32(ALICE), id32(BOB)] }],
  ['options-left-out', 'hydraDx', 'AssetRegistry', 'update', ['5', '', '', '', '', 'true'], 'AssetRegistry', 'update', {
    asset_id: 5, asset_type: null, decimals: null, existential_deposit: null, is_sufficient: true, location: null, name: null, symbol: null, xcm_rate_limit: null,
  }],
  ['vote', 'kusama', 'ConvictionVoting', 'vote', ['1234', '{"Standard": {"vote": 129, "balance": "10000000000"}}'],
    'ConvictionVoting', 'vote', { poll_index: 1234, vote: { Standard: { balance: '10000000000', vote: 0x81 } } }],
  ['schedule', 'polkadot', 'Scheduler', 'schedule_after', ['600', '[100, 5]', '0', pay('polkadot', '5').toHex()], 'Scheduler', 'schedule_after', {
    after: 600, call: { Balances: { transfer_keep_alive: { dest: id32(BOB), value: '5' } } }, maybe_periodic: [100, 5], priority: 0,
  }],
];

// id, chain, kind, calls.
const BATCHES = ['polkadot', 'assetHub', 'hydraDx'].flatMap((chain) => [
  ['batch-all', 'batch_all'], ['batch', 'batch'], ['force-batch', 'force_batch'],
].map(([kind, method]) => [`${chain}-${kind}`, chain, kind, method, [pay(chain, '10000000000'), note(chain, 'two'), pay(chain, U128_MAX)]]));

// id, chain, kind of batch, whether memos are wanted, and the lines: account, amount in whole tokens, asset, memo; then the calls that they mean.
const token = (chain, id, who, amount) => built(chain, 'Tokens', 'transfer_keep_alive', { amount, currency_id: id, dest: who });
const asset = (id, who, amount) => built('assetHub', 'Assets', 'transfer_keep_alive', { amount, id, target: id32(who) });
const own = (chain, who, value) => built(chain, 'Balances', 'transfer_keep_alive', { dest: chain === 'hydraDx' ? who : id32(who), value });
const PAYOUTS = [
  ['relay', 'polkadot', 'batchAll', false, [[ALICE, '0.5', 'DOT', 'May'], [BOB, '1.0000000001', 'DOT', ''], [ALICE, '99999', 'DOT', '']],
    [own('polkadot', ALICE, '5000000000'), own('polkadot', BOB, '10000000001'), own('polkadot', ALICE, '999990000000000')]],
  ['memos', 'assetHub', 'batchAll', true, [[BOB, '2.5', '1984', 'Räume, "Mai" 🦀'], [ALICE, '3', 'DOT', ''], [BOB, '7', '1337', 'x']],
    [asset(1984, BOB, '2500000'), note('assetHub', 'Räume, "Mai" 🦀'), own('assetHub', ALICE, '30000000000'), asset(1337, BOB, '7000000'), note('assetHub', 'x')]],
  ['goes-on', 'hydraDx', 'forceBatch', false, [[BOB, '20', 'HDX', 'x'], [ALICE, '0.1', '5', ''], [BOB, '1', '5', '']],
    [own('hydraDx', BOB, '20000000000000'), token('hydraDx', 5, ALICE, '1000000000'), token('hydraDx', 5, BOB, '10000000000')]],
  ['alone', 'polkadot', 'batchAll', true, [[BOB, '1', 'DOT', '']], null],
];
const quoted = (cell) => `"${cell.replaceAll('"', '""')}"`;

export function lineVectors () {
  return [
    ...LINES.map(([id, chain, pallet, method, words, realPallet, realMethod, args]) => ({
      id: `line-${id}`, kind: 'line', metadata: RUNTIMES[chain], chain, pallet, method, words,
      ...expectCall(loadRuntime(RUNTIMES[chain]), built(chain, realPallet, realMethod, args)),
    })),
    ...PAYOUTS.map(([id, chain, method, memos, lines, calls]) => {
      const runtime = loadRuntime(RUNTIMES[chain]);

      return {
        id: `payout-${id}`, kind: 'payout', metadata: RUNTIMES[chain], chain, force_batch: method === 'forceBatch', memos,
        lines: ['account,amount,asset,memo', ...lines.map(([who, ...cells]) => [encodeAddress(who, 0), ...cells].map(quoted).join(','))].join('\n'),
        ...expectCall(runtime, calls ? runtime.tx.utility[method](calls) : own(chain, BOB, '10000000000')),
      };
    }),
    ...BATCHES.map(([id, chain, kind, method, calls]) => {
      const runtime = loadRuntime(RUNTIMES[chain]);

      return {
        id: `join-${id}`, kind: 'join', metadata: RUNTIMES[chain], chain, batch: kind, calls: calls.map((call) => call.toHex()),
        ...expectCall(runtime, runtime.tx.utility[{ batch: 'batch', batch_all: 'batchAll', force_batch: 'forceBatch' }[method]](calls)),
      };
    }),
  ];
}
