// Transfers: spec/transactions.md's route table, written out once more, and the same-chain forms.

import { buildCall, expectCall, loadRuntime, MYTHOS, OLDER, RUNTIMES } from './runtimes.mjs';

const BOB = '0x8eaf04151687736326c9fea17e25fc5287613693c912909cb226aa4794f26a48';
const NOBODY = '0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff';
const AMOUNT = '12345678900';
const ODD = '98765432109876543211';
const U128_MAX = (2n ** 128n - 1n).toString();

// The boundaries of the compact encoding, and what lies beyond u32 and u64.
const COMPACT = [1n, 63n, 64n, 16383n, 16384n, 2n ** 30n - 1n, 2n ** 30n, 2n ** 64n - 1n, 2n ** 64n, 2n ** 128n - 1n];

const XCM_PALLET = { assetHub: 'PolkadotXcm', assetHub_kusama: 'PolkadotXcm', hydraDx: 'PolkadotXcm', mythos: 'PolkadotXcm', kusama: 'XcmPallet', polkadot: 'XcmPallet' };

const parachain = (id) => ({ Parachain: id });
const trustBacked = (id) => [{ PalletInstance: 50 }, { GeneralIndex: id }];
const accountId32 = (id) => ({ AccountId32: { id, network: null } });
const account = (id) => id.length === 42 ? { AccountKey20: { key: id, network: null } } : accountId32(id);

// XCM of one version: V3 has a bare junction in X1 and wraps the asset's location.
function xcm (version) {
  const versioned = (value) => ({ [`V${version}`]: value });
  const location = (parents, ...junctions) => ({
    interior: junctions.length === 0
      ? 'Here'
      : { [`X${junctions.length}`]: version === 3 && junctions.length === 1 ? junctions[0] : junctions },
    parents,
  });
  const assetId = (where) => version === 3 ? { Concrete: where } : where;
  const fungible = (where, amount) => ({ fun: { Fungible: amount }, id: assetId(where) });
  const everything = { Wild: { AllCounted: 1 } };

  return {
    assetId,
    buyExecution: (where, amount) => ({ BuyExecution: { fees: fungible(where, amount), weight_limit: 'Unlimited' } }),
    depositAsset: (beneficiary) => ({ DepositAsset: { assets: everything, beneficiary: location(0, account(beneficiary)) } }),
    depositReserveAsset: (dest, inner) => ({ DepositReserveAsset: { assets: everything, dest, xcm: inner } }),
    fungible,
    initiateTeleport: (dest, inner) => ({ InitiateTeleport: { assets: everything, dest, xcm: inner } }),
    location,
    versioned,
  };
}

function teleport (version, dest, asset, amount, beneficiary) {
  const x = xcm(version);

  return {
    args: {
      assets: x.versioned([x.fungible(asset(x), amount)]),
      beneficiary: x.versioned(x.location(0, accountId32(beneficiary))),
      dest: x.versioned(dest(x)),
      fee_asset_item: 0,
      weight_limit: 'Unlimited',
    },
    method: 'limited_teleport_assets',
  };
}

function typeAndThen (version, type, dest, asset, amount, custom) {
  const x = xcm(version);

  return {
    args: {
      assets: x.versioned([x.fungible(asset(x), amount)]),
      assets_transfer_type: type,
      custom_xcm_on_dest: x.versioned(custom(x)),
      dest: x.versioned(dest(x)),
      fees_transfer_type: type,
      remote_fees_id: x.versioned(x.assetId(asset(x))),
      weight_limit: 'Unlimited',
    },
    method: 'transfer_assets_using_type_and_then',
  };
}

const half = (amount) => (BigInt(amount) / 2n).toString();
const here = (x) => x.location(0);
const up = (x) => x.location(1);
const assetHubBelow = (x) => x.location(0, parachain(1000));
const assetHubBeside = (x) => x.location(1, parachain(1000));
const hydrationBeside = (x) => x.location(1, parachain(2034));
const assetHubBeyond = (network) => (x) => x.location(2, { GlobalConsensus: network }, parachain(1000));
const beyond = (network, ...junctions) => (x) => x.location(2, { GlobalConsensus: network }, ...junctions);
const onAssetHub = (id) => (x) => x.location(1, parachain(1000), ...trustBacked(id));
const deposit = (beneficiary) => (x) => [x.depositAsset(beneficiary)];

// Each row of the table: source, destination, asset id as scenarioctl takes it, and the call.
const ROUTES = [
  ['polkadot', 'assetHub', 'DOT', (v, a, b) => teleport(v, assetHubBelow, here, a, b)],
  ['assetHub', 'polkadot', 'DOT', (v, a, b) => teleport(v, up, up, a, b)],
  ['kusama', 'assetHub_kusama', 'KSM', (v, a, b) => teleport(v, assetHubBelow, here, a, b)],
  ['assetHub_kusama', 'kusama', 'KSM', (v, a, b) => teleport(v, up, up, a, b)],
  ['assetHub', 'hydraDx', 'DOT', (v, a, b) => typeAndThen(v, 'LocalReserve', hydrationBeside, up, a, deposit(b))],
  ['hydraDx', 'assetHub', '5', (v, a, b) => typeAndThen(v, 'DestinationReserve', assetHubBeside, up, a, deposit(b))],
  ...[1984, 1337].map((id) => ['assetHub', 'hydraDx', `${id}`, (v, a, b) =>
    typeAndThen(v, 'LocalReserve', hydrationBeside, (x) => x.location(0, ...trustBacked(id)), a, deposit(b))]),
  ...[['10', 1984], ['22', 1337]].map(([local, id]) => ['hydraDx', 'assetHub', local, (v, a, b) =>
    typeAndThen(v, 'DestinationReserve', assetHubBeside, (x) => x.location(1, parachain(1000), ...trustBacked(id)), a, deposit(b))]),
  ['hydraDx', 'polkadot', '5', (v, a, b) => typeAndThen(v, 'DestinationReserve', assetHubBeside, up, a, (x) => [
    x.initiateTeleport(x.location(1), [x.buyExecution(x.location(0), half(a)), x.depositAsset(b)]),
  ])],
  ['polkadot', 'hydraDx', 'DOT', (v, a, b) => typeAndThen(v, 'Teleport', assetHubBelow, here, a, (x) => [
    x.depositReserveAsset(x.location(1, parachain(2034)), [x.buyExecution(x.location(1), half(a)), x.depositAsset(b)]),
  ])],
];

// Ways that only a check opens: an asset goes to and from the chain that issued it, or over it.  There, half of the amount is set aside
// for the last hop.
const KEY20 = '0x8ba1f109551bd432803012645ac136ddd64dba72';
const generalKey = (data) => ({ GeneralKey: { data: data.padEnd(66, '0'), length: data.length / 2 - 1 } });
const mythosBeside = (x) => x.location(1, parachain(3369));
const bifrostBeside = (x) => x.location(1, parachain(2030));
const onBifrost = (key) => (x) => x.location(1, parachain(2030), generalKey(key));
const ofHydration = (x) => x.location(1, parachain(2034), { GeneralIndex: 0 });
const MYTH = '1/Parachain(3369)';
const HDX_ON_HUB = '1/Parachain(2034)/GeneralIndex(0)';

// A way over a third chain: how the asset gets there, and how it goes on.
const over = (first, third, onward, destination, where) => (v, a, b) => typeAndThen(v, first, third, where, a, (x) => {
  const inner = [x.buyExecution(where(x), half(a)), x.depositAsset(b)];

  return [onward === 'Teleport' ? x.initiateTeleport(destination(x), inner) : x.depositReserveAsset(destination(x), inner)];
});
const straight = (type, dest, where) => (v, a, b) => typeAndThen(v, type, dest, where, a, deposit(b));
// Where it only changes hands on the third chain, the runtime writes both messages.
const remote = (third, dest, where) => (v, a, b) => straight({ RemoteReserve: xcm(v).versioned(third(xcm(v))) }, dest, where)(v, a, b);

const BY_CHECK = [
  ...['Teleport', 'DestinationReserve'].map((type) => ['assetHub', 'hydraDx', HDX_ON_HUB, type, straight(type, hydrationBeside, ofHydration)]),
  ...['Teleport', 'LocalReserve'].map((type) =>
    ['hydraDx', 'assetHub', '0', type, straight(type, assetHubBeside, (x) => x.location(0, { GeneralIndex: 0 }))]),
  ...[['0x0001', '14'], ['0x0900', '15']].flatMap(([key, id]) => [
    ['assetHub', 'hydraDx', `1/Parachain(2030)/GeneralKey(${key})`, 'Teleport, bifrost, LocalReserve',
      over('Teleport', bifrostBeside, 'LocalReserve', hydrationBeside, onBifrost(key))],
    ['hydraDx', 'assetHub', id, 'DestinationReserve, bifrost, Teleport',
      over('DestinationReserve', bifrostBeside, 'Teleport', assetHubBeside, onBifrost(key))],
    ...[['assetHub', 'hydraDx', `1/Parachain(2030)/GeneralKey(${key})`, hydrationBeside], ['hydraDx', 'assetHub', id, assetHubBeside]].map(
      ([from, to, asset, dest]) => [from, to, asset, 'DestinationReserve, bifrost, LocalReserve', remote(bifrostBeside, dest, onBifrost(key))]
    ),
  ]),
  ['assetHub', 'mythos', MYTH, 'Teleport', straight('Teleport', mythosBeside, mythosBeside)],
  ['mythos', 'assetHub', 'MYTH', 'Teleport', straight('Teleport', assetHubBeside, here)],
  ['mythos', 'hydraDx', 'MYTH', 'LocalReserve', straight('LocalReserve', hydrationBeside, here)],
  ['hydraDx', 'mythos', MYTH, 'DestinationReserve', straight('DestinationReserve', mythosBeside, mythosBeside)],
  ['assetHub', 'hydraDx', MYTH, 'Teleport, mythos, LocalReserve', over('Teleport', mythosBeside, 'LocalReserve', hydrationBeside, mythosBeside)],
  ['hydraDx', 'assetHub', MYTH, 'DestinationReserve, mythos, Teleport',
    over('DestinationReserve', mythosBeside, 'Teleport', assetHubBeside, mythosBeside)],
];

const ETHEREUM = { Ethereum: { chain_id: '1' } };
const WETH = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2';
const onEthereum = (contract) => [ETHEREUM, ...(contract ? [{ AccountKey20: { key: contract, network: null } }] : [])];

// Over the bridge: what goes home pays with itself, and everything else once the other side was asked (`fee_accepted`).
const BRIDGED = [
  ['assetHub', 'assetHub_kusama', '2/GlobalConsensus(Kusama)', false, 'DestinationReserve', 'Kusama', beyond('Kusama')],
  ['assetHub_kusama', 'assetHub', '2/GlobalConsensus(Polkadot)', false, 'DestinationReserve', 'Polkadot', beyond('Polkadot')],
  ['assetHub', 'assetHub_kusama', 'DOT', true, 'LocalReserve', 'Kusama', up],
  ['assetHub_kusama', 'assetHub', 'KSM', true, 'LocalReserve', 'Polkadot', up],
  ...[31337, 1984, 1337].flatMap((id) => [
    ['assetHub', 'assetHub_kusama', `${id}`, true, 'LocalReserve', 'Kusama', (x) => x.location(0, ...trustBacked(id))],
    ['assetHub_kusama', 'assetHub', `2/GlobalConsensus(Polkadot)/Parachain(1000)/PalletInstance(50)/GeneralIndex(${id})`, true,
      'DestinationReserve', 'Polkadot', beyond('Polkadot', parachain(1000), ...trustBacked(id))],
  ]),
  ...[['', undefined], [`/AccountKey20(${WETH})`, WETH]].flatMap(([path, contract]) => [
    ['assetHub', 'assetHub_kusama', `2/GlobalConsensus(Ethereum:1)${path}`, true, 'LocalReserve', 'Kusama', beyond(...onEthereum(contract))],
    ['assetHub_kusama', 'assetHub', `2/GlobalConsensus(Ethereum:1)${path}`, true, 'DestinationReserve', 'Polkadot', beyond(...onEthereum(contract))],
  ]),
];

// The source's native asset pays for an asset that pays no fees beyond the bridge.
function withNativeFee (version, type, dest, where, amount, fee, beneficiary, first) {
  const x = xcm(version);
  const sent = [x.fungible(where(x), amount), x.fungible(up(x), fee)];

  return {
    args: {
      assets: x.versioned(first ? sent : sent.reverse()),
      assets_transfer_type: type,
      custom_xcm_on_dest: x.versioned([{ DepositAsset: { assets: { Wild: { AllCounted: 2 } }, beneficiary: x.location(0, accountId32(beneficiary)) } }]),
      dest: x.versioned(dest(x)),
      fees_transfer_type: 'LocalReserve',
      remote_fees_id: x.versioned(x.assetId(up(x))),
      weight_limit: 'Unlimited',
    },
    method: 'transfer_assets_using_type_and_then',
  };
}

// Another asset pays on the destination, and goes the same way; the one that is first in the order of locations stands first.
const onSpot = (id) => (x) => x.location(0, ...trustBacked(id));
const REMOTE_FEES = [
  ['assetHub', 'hydraDx', '31337', '1984', 'LocalReserve', hydrationBeside, onSpot(31337), onSpot(1984), false],
  ['assetHub', 'hydraDx', '31337', 'DOT', 'LocalReserve', hydrationBeside, onSpot(31337), up, true],
  ['assetHub', 'hydraDx', 'DOT', '1984', 'LocalReserve', hydrationBeside, up, onSpot(1984), false],
  ['assetHub', 'hydraDx', '2/GlobalConsensus(Ethereum:1)', '1984', 'LocalReserve', hydrationBeside, beyond(...onEthereum()), onSpot(1984), false],
  ['assetHub', 'hydraDx', '31337', '2/GlobalConsensus(Ethereum:1)', 'LocalReserve', hydrationBeside, onSpot(31337), beyond(...onEthereum()), true],
  ['hydraDx', 'assetHub', '1000085', '10', 'DestinationReserve', assetHubBeside, onAssetHub(31337), onAssetHub(1984), false],
  ['hydraDx', 'assetHub', '1000085', '5', 'DestinationReserve', assetHubBeside, onAssetHub(31337), up, false],
];

function withRemoteFee (version, type, dest, where, fees, amount, fee, beneficiary, first) {
  const x = xcm(version);
  const sent = [x.fungible(where(x), amount), x.fungible(fees(x), fee)];

  return {
    args: {
      assets: x.versioned(first ? sent : sent.reverse()),
      assets_transfer_type: type,
      custom_xcm_on_dest: x.versioned([{ DepositAsset: { assets: { Wild: { AllCounted: 2 } }, beneficiary: x.location(0, accountId32(beneficiary)) } }]),
      dest: x.versioned(dest(x)),
      fees_transfer_type: type,
      remote_fees_id: x.versioned(x.assetId(fees(x))),
      weight_limit: 'Unlimited',
    },
    method: 'transfer_assets_using_type_and_then',
  };
}

const id32 = (id) => ({ Id: id });

// Same-chain transfers keep the sender alive; Hydration takes a raw account id, the others a MultiAddress.
const LOCAL = [
  ...[['polkadot', 'DOT'], ['assetHub', 'DOT'], ['kusama', 'KSM'], ['assetHub_kusama', 'KSM']].map(([chain, asset]) =>
    [chain, asset, (a, b) => ({ args: { dest: id32(b), value: a }, method: 'transfer_keep_alive', pallet: 'Balances' })]),
  ...[1984, 1337, 31337, 50000075, 4294967295].map((id) => ['assetHub', `${id}`, (a, b) =>
    ({ args: { amount: a, id, target: id32(b) }, method: 'transfer_keep_alive', pallet: 'Assets' })]),
  ['hydraDx', '0', (a, b) => ({ args: { dest: b, value: a }, method: 'transfer_keep_alive', pallet: 'Balances' })],
  ...[1, 5, 10, 22, 1000085].map((id) => ['hydraDx', `${id}`, (a, b) =>
    ({ args: { amount: a, currency_id: id, dest: b }, method: 'transfer_keep_alive', pallet: 'Tokens' })]),
  // Balances kept by an ERC-20 contract.
  ...[222, 1001].map((id) => ['hydraDx', `${id}`, (a, b) =>
    ({ args: { amount: a, currency_id: id, dest: b }, method: 'transfer', pallet: 'Currencies' })]),
];

// The forms that may close the sender's account.
const CLOSING = [
  ...[['polkadot', 'DOT'], ['assetHub', 'DOT']].map(([chain, asset]) =>
    [chain, asset, (a, b) => ({ args: { dest: id32(b), value: a }, method: 'transfer_allow_death', pallet: 'Balances' })]),
  ['assetHub', '1984', (a, b) => ({ args: { amount: a, id: 1984, target: id32(b) }, method: 'transfer', pallet: 'Assets' })],
  ['assetHub', '1/Parachain(3369)', (a, b) =>
    ({ args: { amount: a, id: xcm(5).location(1, parachain(3369)), target: id32(b) }, method: 'transfer', pallet: 'ForeignAssets' })],
  ['hydraDx', '0', (a, b) => ({ args: { dest: b, value: a }, method: 'transfer_allow_death', pallet: 'Balances' })],
  ['hydraDx', '5', (a, b) => ({ args: { amount: a, currency_id: 5, dest: b }, method: 'transfer', pallet: 'Tokens' })],
  ['hydraDx', '222', (a, b) => ({ args: { amount: a, currency_id: 222, dest: b }, method: 'transfer', pallet: 'Currencies' })],
];

function transfer (id, source, destination, asset, amount, beneficiary, call, rest = {}) {
  const metadata = rest.metadata ?? RUNTIMES[source];
  const runtime = loadRuntime(metadata);
  const whole = { args: call.args, method: call.method, pallet: call.pallet ?? XCM_PALLET[source] };

  return {
    id,
    kind: rest.way ? 'by-check' : 'transfer',
    metadata,
    ...(rest.way ? { way: rest.way } : {}),
    ...(rest.fee_accepted ? { fee_accepted: true } : {}),
    ...(rest.native_fee ? { native_fee: rest.native_fee } : {}),
    ...(rest.native_fee_asset ? { native_fee_asset: rest.native_fee_asset } : {}),
    ...(rest.set_aside ? { set_aside: rest.set_aside } : {}),
    ...(rest.remote_fee ? { remote_fee_asset: rest.remote_fee_asset, remote_fee: rest.remote_fee } : {}),
    ...(rest.sender ? { sender: rest.sender } : {}),
    ...(rest.allow_death ? { allow_death: true } : {}),
    ...(rest.destination_metadata ? { destination_metadata: rest.destination_metadata } : {}),
    source,
    destination,
    asset,
    amount,
    beneficiary,
    xcm_version: rest.xcm_version ?? null,
    ...whole,
    ...expectCall(runtime, buildCall(runtime, whole)),
  };
}

export function transferVectors () {
  const vectors = [];

  for (const [source, destination, asset, build] of ROUTES) {
    for (const version of [3, 4, 5]) {
      vectors.push(transfer(
        `${source}-${destination}-${asset}-v${version}`, source, destination, asset, AMOUNT, BOB, build(version, AMOUNT, BOB),
        { destination_metadata: RUNTIMES[destination], xcm_version: version }
      ));
    }

    // No version asked for: the highest that both know, which is V5 today.  The amount is odd, so that half of it is not whole.
    vectors.push(transfer(
      `${source}-${destination}-${asset}-newest`, source, destination, asset, ODD, NOBODY, build(5, ODD, NOBODY),
      { destination_metadata: RUNTIMES[destination] }
    ));
  }

  for (const [source, destination, asset, way, build] of BY_CHECK) {
    for (const version of [3, 4, 5]) {
      const receiver = destination === 'mythos' ? KEY20 : BOB;

      vectors.push(transfer(
        `${source}-${destination}-${asset}-${way.replaceAll(', ', '-')}-v${version}`, source, destination, asset, ODD, receiver,
        build(version, ODD, receiver), { metadata: source === 'mythos' ? MYTHOS : undefined, way, xcm_version: version }
      ));
    }
  }

  for (const [source, destination, asset, accepted, type, network, where] of BRIDGED) {
    for (const version of [3, 4, 5]) {
      vectors.push(transfer(
        `${source}-${destination}-${asset}-v${version}`, source, destination, asset, AMOUNT, BOB,
        typeAndThen(version, type, assetHubBeyond(network), where, AMOUNT, deposit(BOB)),
        { destination_metadata: RUNTIMES[destination], fee_accepted: accepted, xcm_version: version }
      ));
    }

    // An asset that is below the relay chain's in the order of locations comes first.
    if (accepted && where !== up) {
      vectors.push(transfer(
        `${source}-${destination}-${asset}-native-fee`, source, destination, asset, ODD, BOB,
        withNativeFee(5, type, assetHubBeyond(network), where, ODD, '77', BOB, !asset.includes('/')),
        { destination_metadata: RUNTIMES[destination], native_fee: '77' }
      ));
    }
  }

  for (const [source, destination, asset, pays, type, dest, where, fees, first] of REMOTE_FEES) {
    for (const version of [3, 4, 5]) {
      vectors.push(transfer(
        `${source}-${destination}-${asset}-remote-fee-${pays}-v${version}`, source, destination, asset, ODD, BOB,
        withRemoteFee(version, type, dest, where, fees, ODD, '20000', BOB, first),
        { destination_metadata: RUNTIMES[destination], remote_fee: '20000', remote_fee_asset: pays, xcm_version: version }
      ));
    }
  }

  // The version is decided by the older of the two runtimes.
  const find = (from, to) => ROUTES.find(([source, destination]) => source === from && destination === to)[3];

  for (const [source, destination, metadata, other, version] of [
    ['polkadot', 'assetHub', OLDER.polkadotV14, RUNTIMES.assetHub, 4],
    ['polkadot', 'assetHub', OLDER.polkadotV15, RUNTIMES.assetHub, 5],
    ['assetHub', 'polkadot', RUNTIMES.assetHub, OLDER.polkadotV14, 4],
    ['assetHub', 'polkadot', OLDER.assetHubV15, RUNTIMES.polkadot, 5],
    ['polkadot', 'hydraDx', OLDER.polkadotV14, RUNTIMES.hydraDx, 4],
    ['hydraDx', 'polkadot', RUNTIMES.hydraDx, OLDER.polkadotV14, 4],
  ]) {
    vectors.push(transfer(
      `${source}-${destination}-${metadata.split('.')[0]}-to-${other.split('.')[0]}`, source, destination, source === 'hydraDx' ? '5' : 'DOT',
      AMOUNT, BOB, find(source, destination)(version, AMOUNT, BOB), { destination_metadata: other, metadata }
    ));
  }

  for (const [chain, asset, build] of LOCAL) {
    vectors.push(transfer(`${chain}-local-${asset}`, chain, chain, asset, AMOUNT, BOB, build(AMOUNT, BOB)));
  }

  for (const [chain, asset, build] of CLOSING) {
    vectors.push(transfer(`${chain}-closing-${asset}`, chain, chain, asset, ODD, BOB, build(ODD, BOB), { allow_death: true }));
  }

  for (const [chain, asset] of [['polkadot', 'DOT'], ['assetHub', '1984'], ['hydraDx', '5']]) {
    const build = LOCAL.find(([name, known]) => name === chain && known === asset)[2];

    for (const amount of COMPACT) {
      vectors.push(transfer(`${chain}-local-${asset}-amount-${amount}`, chain, chain, asset, `${amount}`, NOBODY, build(`${amount}`, NOBODY)));
    }
  }

  for (const amount of COMPACT) {
    vectors.push(transfer(
      `polkadot-assetHub-amount-${amount}`, 'polkadot', 'assetHub', 'DOT', `${amount}`, BOB,
      find('polkadot', 'assetHub')(5, `${amount}`, BOB), { destination_metadata: RUNTIMES.assetHub }
    ));
  }

  for (const [source, destination] of [['hydraDx', 'polkadot'], ['polkadot', 'hydraDx']]) {
    // One DOT is the least that the offline half of BuyExecution takes.
    for (const amount of ['10000000000', '10000000001', U128_MAX]) {
      vectors.push(transfer(
        `${source}-${destination}-amount-${amount}`, source, destination, source === 'hydraDx' ? '5' : 'DOT', amount, BOB,
        find(source, destination)(5, amount, BOB), { destination_metadata: RUNTIMES[destination] }
      ));
    }
  }

  return vectors;
}
