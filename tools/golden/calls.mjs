// Swaps, remarks and every other kind of call: what a step `chainTx` may name.

import { encodeAddress } from '@polkadot/util-crypto';
import { u8aToHex } from '@polkadot/util';
import { buildCall, expectCall, loadRuntime, OLDER, RUNTIMES } from './runtimes.mjs';

export const ALICE = '0xd43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d';
export const BOB = '0x8eaf04151687736326c9fea17e25fc5287613693c912909cb226aa4794f26a48';
const CHARLIE = '0x90b5ab205c6974c9ea841be688864633dc9ca8a357843eeacf2314649965fe22';
const EVM = '0x00112233445566778899aabbccddeeff00112233';
const U128_MAX = (2n ** 128n - 1n).toString();
const U256_MAX = (2n ** 256n - 1n).toString();
const hash = (byte) => `0x${byte.repeat(32)}`;
const id32 = (id) => ({ Id: id });
const text = (value) => u8aToHex(new TextEncoder().encode(value));

// ---- Swaps

function swap (id, { amount, asset_in, asset_out, min_amount_out, route }) {
  const runtime = loadRuntime(RUNTIMES.hydraDx);
  const omnipool = !route || (route.length === 1 && route[0].pool === 'Omnipool');
  const call = omnipool
    ? { args: { amount, asset_in, asset_out, min_buy_amount: min_amount_out }, method: 'sell', pallet: 'Omnipool' }
    : { args: { amount_in: amount, asset_in, asset_out, min_amount_out, route }, method: 'sell', pallet: 'Router' };

  return {
    id: `swap-${id}`, kind: 'swap', metadata: RUNTIMES.hydraDx, chain: 'hydraDx', asset_in, asset_out, amount, min_amount_out, route: route ?? null,
    ...call, ...expectCall(runtime, buildCall(runtime, call)),
  };
}

const hop = (pool, asset_in, asset_out) => ({ pool, asset_in, asset_out });

function swapVectors () {
  return [
    swap('dot-usdt', { amount: '15000000000', asset_in: 5, asset_out: 10, min_amount_out: '64350000' }),
    swap('hdx-dot', { amount: '1000000000000', asset_in: 0, asset_out: 5, min_amount_out: '1' }),
    swap('usdc-hdx-u64', { amount: '18446744073709551616', asset_in: 22, asset_out: 0, min_amount_out: '18446744073709551615' }),
    swap('largest', { amount: U128_MAX, asset_in: 10, asset_out: 22, min_amount_out: U128_MAX }),
    swap('omnipool-route', { amount: '15000000000', asset_in: 5, asset_out: 10, min_amount_out: '64350000', route: [hop('Omnipool', 5, 10)] }),
    swap('stableswap', { amount: '1000000', asset_in: 10, asset_out: 22, min_amount_out: '999000', route: [hop({ Stableswap: 102 }, 10, 22)] }),
    swap('xyk', { amount: '1000000000000', asset_in: 5, asset_out: 0, min_amount_out: '7', route: [hop('XYK', 5, 0)] }),
    swap('lbp', { amount: '1000000000000', asset_in: 0, asset_out: 5, min_amount_out: '7', route: [hop('LBP', 0, 5)] }),
    swap('aave', { amount: '1000000000000', asset_in: 5, asset_out: 10, min_amount_out: '7', route: [hop('Aave', 5, 10)] }),
    swap('hsm', { amount: '1000000', asset_in: 22, asset_out: 10, min_amount_out: '7', route: [hop('HSM', 22, 10)] }),
    swap('omnipool-stableswap', {
      amount: '15000000000', asset_in: 5, asset_out: 10, min_amount_out: '64350000', route: [hop('Omnipool', 5, 102), hop({ Stableswap: 102 }, 102, 10)],
    }),
    swap('every-pool', {
      amount: '1000000000000', asset_in: 0, asset_out: 22, min_amount_out: '340282366920938463463374607431768211455',
      route: [
        hop('Omnipool', 0, 5), hop('Aave', 5, 1001), hop('XYK', 1001, 1000085), hop('LBP', 1000085, 102), hop({ Stableswap: 4294967295 }, 102, 222),
        hop('HSM', 222, 22),
      ],
    }),
  ];
}

// ---- Remarks

function remark (id, chain, words, plain, metadata = RUNTIMES[chain]) {
  const runtime = loadRuntime(metadata);
  const whole = typeof words === 'string' ? words : words.repeat[0].repeat(words.repeat[1]);
  const call = { args: { remark: text(whole) }, method: plain ? 'remark' : 'remark_with_event', pallet: 'System' };

  return {
    id: `remark-${id}`, kind: 'remark', metadata, chain, text: words, plain, pallet: call.pallet, method: call.method,
    ...expectCall(runtime, buildCall(runtime, call)),
  };
}

function remarkVectors () {
  const vectors = [];

  for (const chain of Object.keys(RUNTIMES)) {
    vectors.push(remark(`${chain}`, chain, 'hello', false), remark(`${chain}-plain`, chain, 'hello', true));
  }

  return [
    ...vectors,
    remark('v14', 'polkadot', 'hello', false, OLDER.polkadotV14),
    remark('emoji', 'assetHub', '👩‍🚀 é ß 漢字 \u0000 end', false),
    remark('like-hex', 'polkadot', '0xdeadbeef', false),
    remark('like-json', 'polkadot', '{"a": [1, "2"]}\n', true),
    ...[63, 64, 255, 256, 16383, 16384].map((size) => remark(`${size}-bytes`, 'polkadot', { repeat: ['x', size] }, false)),
    remark('emoji-16384-bytes', 'hydraDx', { repeat: ['🦀', 4096] }, true),
  ];
}

// ---- Other calls

const transfer = (value, dest = BOB) => ({ Balances: { transfer_keep_alive: { dest: id32(dest), value } } });
const remarkCall = (words) => ({ System: { remark: { remark: text(words) } } });
const location = (parents, ...junctions) => ({
  interior: junctions.length ? { [`X${junctions.length}`]: junctions } : 'Here', parents,
});
const ethereum = { GlobalConsensus: { Ethereum: { chain_id: 1 } } };
const weth = location(2, ethereum, { AccountKey20: { key: EVM, network: null } });

const nested = (depth) => depth === 0 ? remarkCall('deep') : { Utility: { batch_all: { calls: [nested(depth - 1)] } } };

const nobodyIdentity = {
  additional: [['None', { Raw0: '0x' }], [{ Raw4: text('key.') }, { Raw32: hash('61') }]],
  display: { Raw5: text('Alice') },
  email: 'None',
  image: 'None',
  legal: 'None',
  pgp_fingerprint: `0x${'ab'.repeat(20)}`,
  riot: 'None',
  twitter: { Raw6: text('@alice') },
  web: 'None',
};

// id, chain, pallet, method, args.
const CALLS = [
  // Options, tuples, nested options, booleans
  ['option-bool-true', 'hydraDx', 'AssetRegistry', 'update', registryUpdate({ is_sufficient: true })],
  ['option-bool-false', 'hydraDx', 'AssetRegistry', 'update', registryUpdate({ is_sufficient: false })],
  ['options-all-none', 'hydraDx', 'AssetRegistry', 'update', registryUpdate({})],
  ['options-all-some', 'hydraDx', 'AssetRegistry', 'update', registryUpdate({
    asset_type: 'Erc20', decimals: 0, existential_deposit: U128_MAX, is_sufficient: true,
    location: location(1, { Parachain: 1000 }, { PalletInstance: 50 }, { GeneralIndex: 1984 }),
    name: text('Tether é'), symbol: '0x', xcm_rate_limit: '0',
  })],
  ['option-option-none', 'hydraDx', 'HSM', 'update_collateral_asset', collateral(null)],
  ['option-option-some-none', 'hydraDx', 'HSM', 'update_collateral_asset', collateral({ Some: null })],
  ['option-option-some-some', 'hydraDx', 'HSM', 'update_collateral_asset', collateral({ Some: '12345678901234567890' })],
  ['option-tuple', 'hydraDx', 'CircuitBreaker', 'set_add_liquidity_limit', { asset_id: 5, liquidity_limit: [4, 100] }],
  ['options-of-many', 'hydraDx', 'LBP', 'update_pool_data', {
    end: 4294967295, fee: [2, 1000], fee_collector: BOB, final_weight: null, initial_weight: 50000000, pool_id: ALICE, pool_owner: null,
    repay_target: U128_MAX, start: 0,
  }],
  ['option-tuple-of-three', 'polkadot', 'Claims', 'mint_claim', { statement: 'Saft', value: '5', vesting_schedule: ['1', '2', 3], who: EVM }],
  ['option-tuple-with-account', 'assetHub', 'NominationPools', 'set_commission', { new_commission: [100000000, BOB], pool_id: 1 }],
  ['bits-in-a-struct', 'hydraDx', 'Omnipool', 'set_asset_tradable_state', { asset_id: 5, state: { bits: 3 } }],

  // u256, signed, maps, bit sequences
  ['u256', 'hydraDx', 'EVM', 'call', {
    access_list: [[EVM, [hash('01'), hash('02')]], [EVM, []]],
    authorization_list: [{
      address: EVM, chain_id: '18446744073709551615', nonce: '0', signature: { odd_y_parity: true, r: hash('aa'), s: hash('bb') },
    }],
    gas_limit: '9007199254740993', input: '0xa9059cbb', max_fee_per_gas: '1000000000', max_priority_fee_per_gas: null,
    nonce: '340282366920938463463374607431768211456', source: EVM, target: EVM, value: U256_MAX,
  }],
  ['u256-on-asset-hub', 'assetHub', 'Revive', 'eth_call', {
    data: '0x', dest: EVM, effective_gas_price: '1', encoded_len: 4294967295, eth_gas_limit: '18446744073709551616', transaction_encoded: '0x00',
    value: '0', weight_limit: { proof_size: '1073741824', ref_time: '1073741823' },
  }],
  ...['-1', '170141183460469231731687303715884105727', '-170141183460469231731687303715884105728', '0'].map((amount) =>
    [`i128-${amount}`, 'hydraDx', 'Currencies', 'update_balance', { amount, currency_id: 5, who: BOB }]),
  ['map', 'assetHub', 'Dap', 'set_budget_allocation', { new_allocations: [[text('burn'), 250000000], [text('stakers'), 750000000]] }],
  ['map-empty', 'assetHub', 'Dap', 'set_budget_allocation', { new_allocations: [] }],
  ['bit-sequence', 'polkadot', 'ParaInherent', 'enter', {
    data: {
      backed_candidates: [],
      bitfields: ['', '10000000', '0101001111110000'].map((payload, i) => ({ payload, signature: `0x${'0f'.repeat(64)}`, validator_index: i })),
      disputes: [{
        candidate_hash: hash('cc'), session: 7,
        statements: [
          [{ Valid: 'Explicit' }, 1, `0x${'01'.repeat(64)}`], [{ Valid: { BackingSeconded: hash('dd') } }, 2, `0x${'02'.repeat(64)}`],
          [{ Invalid: 'Explicit' }, 3, `0x${'03'.repeat(64)}`],
        ],
      }],
      parent_header: {
        digest: { logs: [{ PreRuntime: [text('BABE'), '0x010203'] }, { Other: '0x' }, 'RuntimeEnvironmentUpdated'] },
        extrinsics_root: hash('03'), number: 16384, parent_hash: hash('01'), state_root: hash('02'),
      },
    },
  }],

  // Calls in calls
  ['batch-all', 'polkadot', 'Utility', 'batch_all', { calls: [transfer('1'), remarkCall('two'), transfer(U128_MAX, CHARLIE)] }],
  ['batch-empty', 'polkadot', 'Utility', 'batch', { calls: [] }],
  ['batch-nested', 'assetHub', 'Utility', 'batch_all', { calls: [nested(1), nested(4), transfer('10000000000')] }],
  ['batch-of-no-arguments', 'assetHub', 'Utility', 'force_batch', { calls: [{ Staking: 'chill' }, { Proxy: 'remove_proxies' }] }],
  ['batch-v14', 'polkadotV14', 'Utility', 'batch_all', { calls: [transfer('10000000000'), remarkCall('')] }],
  ['proxy-none', 'polkadot', 'Proxy', 'proxy', { call: transfer('10000000000'), force_proxy_type: null, real: id32(ALICE) }],
  ['proxy-some', 'kusama', 'Proxy', 'proxy', { call: { Utility: { batch: { calls: [remarkCall('x')] } } }, force_proxy_type: 'Any', real: id32(ALICE) }],
  ['proxy-hydration', 'hydraDx', 'Proxy', 'proxy', {
    call: { Omnipool: { sell: { amount: '5', asset_in: 5, asset_out: 0, min_buy_amount: '1' } } }, force_proxy_type: 'Transfer', real: ALICE,
  }],
  ['add-proxy', 'assetHub', 'Proxy', 'add_proxy', { delay: 14400, delegate: id32(BOB), proxy_type: 'StakingOperator' }],
  ['if-else', 'hydraDx', 'Utility', 'if_else', { fallback: remarkCall('b'), main: remarkCall('a') }],
  ['with-weight', 'polkadot', 'Utility', 'with_weight', { call: remarkCall('w'), weight: { proof_size: '0', ref_time: '18446744073709551615' } }],
  ['as-derivative', 'kusama', 'Utility', 'as_derivative', { call: remarkCall('d'), index: 65535 }],
  ['dispatch-as', 'polkadot', 'Utility', 'dispatch_as', { as_origin: { system: { Signed: BOB } }, call: remarkCall('as') }],
  ['multisig-timepoint', 'polkadot', 'Multisig', 'as_multi', {
    call: transfer('10000000000'), max_weight: { proof_size: '16384', ref_time: '1000000000' }, maybe_timepoint: { height: 20000000, index: 3 },
    other_signatories: [BOB, CHARLIE], threshold: 2,
  }],
  ['multisig-first', 'assetHub', 'Multisig', 'as_multi', {
    call: transfer('1'), max_weight: { proof_size: '0', ref_time: '0' }, maybe_timepoint: null, other_signatories: [BOB], threshold: 2,
  }],
  ['multisig-approve', 'hydraDx', 'Multisig', 'approve_as_multi', {
    call_hash: hash('5a'), max_weight: { proof_size: '63', ref_time: '64' }, maybe_timepoint: null, other_signatories: [], threshold: 65535,
  }],
  ['schedule', 'polkadot', 'Scheduler', 'schedule', { call: remarkCall('later'), maybe_periodic: [100, 5], priority: 255, when: 25000000 }],
  ['schedule-once', 'assetHub', 'Scheduler', 'schedule_named', {
    call: remarkCall('once'), id: hash('77'), maybe_periodic: null, priority: 0, when: 4294967295,
  }],

  // Staking, pools, vesting, governance
  ['bond', 'assetHub', 'Staking', 'bond', { payee: 'Staked', value: '1073741824' }],
  ['bond-to-account', 'assetHub', 'Staking', 'bond', { payee: { Account: BOB }, value: '2500000000000' }],
  ['nominate', 'assetHub', 'Staking', 'nominate', { targets: [id32(ALICE), id32(BOB), id32(CHARLIE)] }],
  ['validate', 'polkadot', 'Staking', 'validate', { prefs: { blocked: true, commission: 50000000 } }],
  ['staking-configs', 'polkadot', 'Staking', 'set_staking_configs', {
    chill_threshold: { Set: 75 }, max_nominator_count: { Set: 22500 }, max_staked_rewards: 'Noop', max_validator_count: 'Remove',
    min_commission: { Set: 100000000 }, min_nominator_bond: { Set: '2500000000000' }, min_validator_bond: 'Noop',
  }],
  ['restore-ledger', 'polkadot', 'Staking', 'restore_ledger', {
    maybe_controller: BOB, maybe_total: '5', maybe_unlocking: [{ era: 1500, value: '64' }, { era: 1501, value: '4294967296' }], stash: ALICE,
  }],
  ['pool-join', 'assetHub', 'NominationPools', 'join', { amount: '10000000000', pool_id: 1 }],
  ['pool-bond-extra', 'assetHub', 'NominationPools', 'bond_extra', { extra: { FreeBalance: '10000000000' } }],
  ['pool-bond-rewards', 'assetHub', 'NominationPools', 'bond_extra', { extra: 'Rewards' }],
  ['pool-roles', 'kusama', 'NominationPools', 'update_roles', {
    new_bouncer: 'Remove', new_nominator: { Set: BOB }, new_root: 'Noop', pool_id: 1,
  }],
  ['session-report', 'assetHub', 'StakingRcClient', 'relay_session_report', {
    report: { activation_timestamp: ['1764000000000', 7], end_index: 3, leftover: false, validator_points: [[ALICE, 20], [BOB, 0]] },
  }],
  ['vested-transfer', 'polkadot', 'Vesting', 'vested_transfer', {
    schedule: { locked: '1000000000000', per_block: '1', starting_block: 25000000 }, target: id32(BOB),
  }],
  ['vote-aye', 'polkadot', 'ConvictionVoting', 'vote', { poll_index: 1234, vote: { Standard: { balance: '10000000000', vote: 0x81 } } }],
  ['vote-nay', 'assetHub', 'ConvictionVoting', 'vote', { poll_index: 0, vote: { Standard: { balance: '1', vote: 6 } } }],
  ['vote-split', 'hydraDx', 'ConvictionVoting', 'vote', { poll_index: 64, vote: { Split: { aye: '1', nay: '2' } } }],
  ['vote-split-abstain', 'kusama', 'ConvictionVoting', 'vote', { poll_index: 16384, vote: { SplitAbstain: { abstain: '3', aye: '1', nay: U128_MAX } } }],
  ['delegate', 'assetHub', 'ConvictionVoting', 'delegate', { balance: '10000000000', class: 33, conviction: 'Locked6x', to: id32(BOB) }],
  ['remove-vote-some', 'assetHub', 'ConvictionVoting', 'remove_vote', { class: 65535, index: 7 }],
  ['remove-vote-none', 'assetHub', 'ConvictionVoting', 'remove_vote', { class: null, index: 7 }],
  ['referendum-inline', 'assetHub', 'Referenda', 'submit', {
    enactment_moment: { After: 100 }, proposal: { Inline: '0x000000' }, proposal_origin: { system: 'Root' },
  }],
  ['referendum-lookup', 'polkadot', 'Referenda', 'submit', {
    enactment_moment: { At: 25000000 }, proposal: { Lookup: { hash: hash('ab'), len: 128 } }, proposal_origin: { Origins: 'SmallSpender' },
  }],
  ['identity', 'hydraDx', 'Identity', 'set_identity', { info: nobodyIdentity }],
  ['signature-option', 'polkadot', 'Crowdloan', 'contribute', { index: 2000, signature: { Ecdsa: `0x${'e1'.repeat(65)}` }, value: '50000000000' }],
  ['core-assignment', 'polkadot', 'Coretime', 'assign_core', {
    assignment: [['Idle', 1], ['Pool', 28800], [{ Task: 1000 }, 28799]], begin: 25000000, core: 3, end_hint: null,
  }],
  ['empty-bytes', 'polkadot', 'System', 'remark', { remark: '0x' }],
  ['storage-items', 'polkadot', 'System', 'set_storage', { items: [['0x', '0x00'], [hash('26'), '0x']] }],
  ['kill-storage', 'assetHub_kusama', 'System', 'kill_storage', { keys: ['0x01', '0x', '0x0203'] }],

  // Balances and assets
  ...['0', '1', '63', '64', '16383', '16384', '1073741823', '1073741824', '18446744073709551616', U128_MAX].map((value) =>
    [`amount-${value}`, 'kusama', 'Balances', 'transfer_allow_death', { dest: id32(BOB), value }]),
  ['transfer-all', 'polkadot', 'Balances', 'transfer_all', { dest: id32(BOB), keep_alive: false }],
  ['transfer-all-hydration', 'hydraDx', 'Balances', 'transfer_all', { dest: BOB, keep_alive: true }],
  ['address-raw', 'polkadot', 'Balances', 'transfer_keep_alive', { dest: { Raw: '0x0102' }, value: '1' }],
  ['address-20', 'assetHub', 'Balances', 'transfer_keep_alive', { dest: { Address20: EVM }, value: '1' }],
  ['upgrade-accounts', 'assetHub_kusama', 'Balances', 'upgrade_accounts', { who: [ALICE, BOB] }],
  ...[0, 63, 64, 1984, 50000075, 4294967295].map((id) =>
    [`asset-${id}`, 'assetHub', 'Assets', 'transfer', { amount: '1', id, target: id32(BOB) }]),
  ['asset-metadata', 'assetHub_kusama', 'Assets', 'set_metadata', { decimals: 10, id: 7777, name: text('Néw'), symbol: text('NEW') }],
  ['foreign-asset', 'assetHub', 'ForeignAssets', 'transfer_keep_alive', { amount: '1000000000000000000', id: weth, target: id32(BOB) }],
  ['foreign-asset-hdx', 'assetHub', 'ForeignAssets', 'transfer', {
    amount: '1000000000000', id: location(1, { Parachain: 2034 }, { GeneralIndex: '0' }), target: id32(BOB),
  }],
  ['asset-swap', 'assetHub', 'AssetConversion', 'swap_exact_tokens_for_tokens', {
    amount_in: '10000000000', amount_out_min: '1', keep_alive: true, path: [location(1), location(0, { PalletInstance: 50 }, { GeneralIndex: 1984 })],
    send_to: BOB,
  }],
  ['treasury-spend-v3', 'assetHub', 'Treasury', 'spend', {
    amount: '5000000', asset_kind: {
      V3: {
        asset_id: { Concrete: { interior: { X2: [{ PalletInstance: 50 }, { GeneralIndex: '1337' }] }, parents: 0 } },
        location: { interior: { X1: { Parachain: 1000 } }, parents: 0 },
      },
    },
    beneficiary: { V4: { account_id: location(0, { AccountId32: { id: BOB, network: 'Polkadot' } }), location: location(0, { Parachain: 1000 }) } },
    valid_from: 25000000,
  }],
  ['nft-collection', 'assetHub', 'Nfts', 'create', {
    admin: id32(ALICE), config: {
      max_supply: 100, mint_settings: { default_item_settings: '0', end_block: null, mint_type: { HolderOf: 7 }, price: '5', start_block: 1 },
      settings: '18446744073709551615',
    },
  }],
  ['nft-mint-witness', 'assetHub', 'Nfts', 'mint', {
    collection: 7, item: 1, mint_to: id32(BOB), witness_data: { mint_price: '5', owned_item: null },
  }],
  ['currencies-transfer', 'hydraDx', 'Currencies', 'transfer', { amount: '1000000000000000000', currency_id: 1001, dest: BOB }],
  ['stableswap-pegs', 'hydraDx', 'Stableswap', 'create_pool_with_pegs', {
    amplification: 1000, assets: [5, 10], fee: 200, max_peg_update: 1000000,
    peg_source: [{ Value: ['1', '2'] }, { Oracle: [text('omnipool'), 'TenMinutes', 5] }, { MMOracle: EVM }], share_asset: 900,
  }],
  ['dca', 'hydraDx', 'DCA', 'schedule', {
    schedule: {
      max_retries: 3, order: { Sell: { amount_in: '1000000', asset_in: 10, asset_out: 0, min_amount_out: '1', route: [hop('Omnipool', 10, 0)] } },
      owner: ALICE, period: 300, slippage: 15000, stability_threshold: null, total_amount: '100000000',
    },
    start_execution_block: null,
  }],

  // XCM by hand
  ['xcm-send', 'polkadot', 'XcmPallet', 'send', {
    dest: { V5: location(0, { Parachain: 1000 }) }, message: {
      V5: [
        { WithdrawAsset: [{ fun: { Fungible: '10000000000' }, id: location(1) }] },
        { PayFees: { asset: { fun: { Fungible: '1' }, id: location(1) } } },
        { Transact: { call: { encoded: '0x000000' }, fallback_max_weight: { proof_size: '1', ref_time: '2' }, origin_kind: 'SovereignAccount' } },
        { ExpectTransactStatus: { TruncatedError: '0x0102' } },
        'RefundSurplus',
        { SetTopic: hash('99') },
      ],
    },
  }],
  ['xcm-claim', 'assetHub', 'PolkadotXcm', 'claim_assets', {
    assets: { V5: [{ fun: { Fungible: '7000000' }, id: location(0, { PalletInstance: 50 }, { GeneralIndex: '1984' }) }, { fun: { Fungible: '25000000000' }, id: location(1) }] },
    beneficiary: { V5: location(0, { AccountId32: { id: BOB, network: null } }) },
  }],
  ['xcm-claim-v4', 'hydraDx', 'PolkadotXcm', 'claim_assets', {
    assets: { V4: [{ fun: { Fungible: '1' }, id: location(1) }] }, beneficiary: { V4: location(0, { AccountId32: { id: ALICE, network: null } }) },
  }],
  ['xcm-claim-v3', 'polkadot', 'XcmPallet', 'claim_assets', {
    assets: { V3: [{ fun: { Fungible: '15000000000' }, id: { Concrete: { interior: 'Here', parents: 0 } } }] },
    beneficiary: { V3: { interior: { X1: { AccountId32: { id: BOB, network: null } } }, parents: 0 } },
  }],
  ['xcm-execute-junctions', 'assetHub', 'PolkadotXcm', 'execute', {
    max_weight: { proof_size: '1', ref_time: '1' }, message: {
      V5: [
        { DescendOrigin: { X8: [
          { AccountIndex64: { index: '18446744073709551615', network: null } }, { AccountKey20: { key: EVM, network: { ByGenesis: hash('01') } } },
          { GeneralKey: { data: hash('00'), length: 32 } }, 'OnlyChild', { Plurality: { id: { Moniker: '0x6d6f6e6f' }, part: { Fraction: { denom: 2, nom: 1 } } } },
          { GlobalConsensus: { ByFork: { block_hash: hash('02'), block_number: '3' } } }, { GeneralIndex: U128_MAX }, { PalletInstance: 255 },
        ] } },
        { DepositAsset: { assets: { Wild: { AllOfCounted: { count: 1, fun: 'NonFungible', id: weth } } }, beneficiary: location(0) } },
        { WithdrawAsset: [{ fun: { NonFungible: { Index: '7' } }, id: weth }, { fun: { NonFungible: 'Undefined' }, id: location(2) }] },
        { SetAppendix: [{ SetErrorHandler: ['ClearError', { Trap: '5' }] }, 'ClearOrigin'] },
      ],
    },
  }],
];

function registryUpdate (given) {
  return {
    asset_id: 5, asset_type: null, decimals: null, existential_deposit: null, is_sufficient: null, location: null, name: null, symbol: null,
    xcm_rate_limit: null, ...given,
  };
}

function collateral (most) {
  return {
    asset_id: 22, buy_back_fee: 100, buyback_rate: null, max_buy_price_coefficient: '1010000000000000000', max_in_holding: most, purchase_fee: null,
  };
}

function file (chain) {
  return RUNTIMES[chain] ?? OLDER[chain];
}

function callVectors () {
  return CALLS.map(([id, chain, pallet, method, args]) => {
    const runtime = loadRuntime(file(chain));
    const call = { args, method, pallet };

    return { id: `call-${id}`, kind: 'call', metadata: file(chain), ...call, ...expectCall(runtime, buildCall(runtime, call)) };
  });
}

// ---- The same from the texts of an editor's form

// id, chain, pallet, method, params as typed by a person, args as they are meant.
const FORMS = [
  ['ss58', 'polkadot', 'Balances', 'transfer_keep_alive', { dest: encodeAddress(BOB, 0), value: '10000000000' }, { dest: id32(BOB), value: '10000000000' }],
  ['ss58-other-prefix', 'assetHub', 'Balances', 'transfer_keep_alive', { dest: encodeAddress(BOB, 42), value: '1' }, { dest: id32(BOB), value: '1' }],
  ['ss58-two-byte-prefix', 'kusama', 'Balances', 'transfer_all', { dest: encodeAddress(BOB, 2034), keep_alive: 'true' }, { dest: id32(BOB), keep_alive: true }],
  ['hex-account', 'polkadot', 'Balances', 'transfer_keep_alive', { dest: BOB, value: '7' }, { dest: id32(BOB), value: '7' }],
  ['variant-written-out', 'polkadot', 'Balances', 'transfer_keep_alive', { dest: `{"Id": "${BOB}"}`, value: '7' }, { dest: id32(BOB), value: '7' }],
  ['account-id', 'hydraDx', 'Balances', 'transfer_keep_alive', { dest: encodeAddress(BOB, 63), value: '7' }, { dest: BOB, value: '7' }],
  ['editor-names', 'polkadot', 'system', 'remarkWithEvent', { remark: 'hello' }, { remark: text('hello') }, 'System', 'remark_with_event'],
  ['remark-hex', 'polkadot', 'System', 'remark', { remark: '0xdeadbeef' }, { remark: '0xdeadbeef' }],
  ['remark-emoji', 'polkadot', 'System', 'remark', { remark: '🦀' }, { remark: text('🦀') }],
  ['u128', 'hydraDx', 'Omnipool', 'sell', { amount: U128_MAX, asset_in: '5', asset_out: '0', min_buy_amount: '1' },
    { amount: U128_MAX, asset_in: 5, asset_out: 0, min_buy_amount: '1' }],
  ['list-of-accounts', 'assetHub', 'Staking', 'nominate', { targets: JSON.stringify([encodeAddress(ALICE, 0), BOB]) }, { targets: [id32(ALICE), id32(BOB)] }],
  ['unit-variant', 'assetHub', 'Staking', 'set_payee', { payee: 'Staked' }, { payee: 'Staked' }],
  ['variant-with-account', 'assetHub', 'Staking', 'bond', { payee: `{"Account": "${encodeAddress(BOB, 0)}"}`, value: '5' }, { payee: { Account: BOB }, value: '5' }],
  ['calls', 'polkadot', 'Utility', 'batch_all', { calls: JSON.stringify([remarkCall('a'), transfer('5')]) }, { calls: [remarkCall('a'), transfer('5')] }],
  ['location', 'assetHub', 'ForeignAssets', 'transfer', { amount: '5', id: JSON.stringify(weth), target: BOB }, { amount: '5', id: weth, target: id32(BOB) }],
  ['no-parameters', 'assetHub', 'Staking', 'chill', {}, {}],
];

function formVectors () {
  return FORMS.map(([id, chain, pallet, method, params, args, canonicalPallet, canonicalMethod]) => {
    const runtime = loadRuntime(file(chain));
    const call = { args, method: canonicalMethod ?? method, pallet: canonicalPallet ?? pallet };

    return { id: `chain-tx-${id}`, kind: 'chain-tx', metadata: file(chain), chain, pallet, method, params, ...expectCall(runtime, buildCall(runtime, call)) };
  });
}

export function everyCallVector () {
  return [...swapVectors(), ...remarkVectors(), ...callVectors(), ...formVectors()];
}
