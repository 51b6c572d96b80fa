// What wallets take: polkadot.js's SignerPayloadJSON, the frames of Polkadot Vault's QR codes, and RFC-78's metadata digests.

import { readFileSync } from 'node:fs';
import { merkleizeMetadata } from '@polkadot-api/merkleize-metadata';
import { u8aConcat, u8aToHex } from '@polkadot/util';
import { blake2AsHex, encodeAddress } from '@polkadot/util-crypto';
// By its path: the package itself wants React.
import { createFrames, createSignPayload } from './node_modules/@polkadot/react-qr/util.js';
import { ALICE } from './calls.mjs';
import { buildCall, hexOrHash, loadRuntime, must, OLDER, ROOT, RUNTIMES } from './runtimes.mjs';
import { CALLS, eraHex, FEE_ASSETS, options } from './signing.mjs';

// As the chains' own properties say.
const CHAINS = {
  polkadot: { decimals: 10, prefix: 0, symbol: 'DOT' },
  assetHub: { decimals: 10, prefix: 0, symbol: 'DOT' },
  hydraDx: { decimals: 12, prefix: 0, symbol: 'HDX' },
  kusama: { decimals: 12, prefix: 2, symbol: 'KSM' },
  assetHub_kusama: { decimals: 12, prefix: 2, symbol: 'KSM' },
  assetHub_paseo: { decimals: 10, prefix: 0, symbol: 'PAS' },
};
const VAULT_TRANSACTION = 2;

function signer (id, chain, call, given) {
  const runtime = loadRuntime(RUNTIMES[chain]);
  const { registry, specVersion, transactionVersion } = runtime;
  const built = buildCall(runtime, call);
  const o = options(chain, given);
  const address = encodeAddress(ALICE, CHAINS[chain].prefix);

  registry.setChainProperties(registry.createType('ChainProperties', { ss58Format: CHAINS[chain].prefix }));

  const json = registry.createType('SignerPayload', {
    ...o,
    address,
    blockNumber: given.era ? given.era[1] : 0,
    era: eraHex(registry, given.era),
    method: built,
    runtimeVersion: { specVersion, transactionVersion },
    signedExtensions: registry.signedExtensions,
    version: 4,
    withSignedTransaction: true,
  }).toPayload();
  // A wallet knows nothing but the JSON.
  const payload = registry.createType('ExtrinsicPayload', JSON.parse(JSON.stringify(json)), { version: json.version });
  const vault = createSignPayload(address, VAULT_TRANSACTION, payload.toU8a(), json.genesisHash);
  const frames = createFrames(vault);

  return {
    id: `wallet-${id}`,
    kind: 'wallet',
    metadata: RUNTIMES[chain],
    chain,
    ...call,
    call_hex: built.toHex(),
    sender: ALICE,
    era: given.era ? { current: given.era[1], period: given.era[0] } : null,
    nonce: o.nonce,
    tip: o.tip,
    ...(given.feeAsset && { fee_asset: given.feeAsset[0] }),
    mode: o.mode,
    metadata_hash: o.metadataHash,
    genesis_hash: o.genesisHash,
    block_hash: o.blockHash,
    signer_payload: json,
    ...hexOrHash('payload', payload.toU8a({ method: true })),
    vault_hex: u8aToHex(vault),
    frames: frames.length,
    frames_blake2_256: blake2AsHex(u8aConcat(...frames), 256),
  };
}

function digest (id, chain, metadata) {
  const { decimals, symbol } = CHAINS[chain];
  const merkleized = merkleizeMetadata(readFileSync(new URL(`tests/data/metadata/${metadata}`, ROOT)), { decimals, tokenSymbol: symbol });

  return { id: `digest-${id}`, kind: 'metadata-digest', metadata, chain, decimals, symbol, digest: u8aToHex(merkleized.digest()) };
}

export function walletVectors () {
  const remark = (size) => ({ args: { remark: `0x${'6c'.repeat(size)}` }, method: 'remark', pallet: 'System' });
  const mortal = { era: [64, 20000000], mode: 1, nonce: 63, tip: '1' };

  return [
    ...Object.keys(RUNTIMES).flatMap((chain) => [
      signer(`${chain}-plain`, chain, CALLS(chain).short, { era: null, mode: 0, nonce: 0, tip: '0' }),
      signer(`${chain}-mortal`, chain, CALLS(chain).transfer, mortal),
    ]),
    // Not the bridged one: SignerPayload has polkadot.js's own type, in which Ethereum has another number than in the runtimes.
    ...['usdt', 'parachain'].map((name) => signer(`fee-in-${name}`, 'assetHub', CALLS('assetHub').transfer, { ...mortal, feeAsset: FEE_ASSETS[name] })),
    signer('most', 'polkadot', CALLS('polkadot').long, { era: [64, 4294967295], mode: 1, nonce: 4294967295, tip: (2n ** 128n - 1n).toString() }),
    // Two frames; and one, full to the last byte, beside the two that one byte more takes.
    signer('two-frames', 'polkadot', remark(1500), mortal),
    ...fullFrames(remark, mortal),
    ...Object.entries(RUNTIMES).map(([chain, metadata]) => digest(chain, chain, metadata)),
    digest('polkadot-v15', 'polkadot', OLDER.polkadotV15),
    digest('assetHub-v15', 'assetHub', OLDER.assetHubV15),
  ];
}

function fullFrames (remark, given) {
  const spare = (1024 - 500) - (signer('', 'polkadot', remark(500), given).vault_hex.length / 2 - 1 - 500);

  return [0, 1].map((more) => {
    const vector = signer(more ? 'frame-and-a-byte' : 'full-frame', 'polkadot', remark(500 + spare + more), given);

    must(vector.vault_hex.length === 2 + 2 * (1024 + more), `${vector.id} is of ${vector.vault_hex.length / 2 - 1} bytes`);
    must(vector.frames === 1 + more, `${vector.id} takes ${vector.frames} frames`);

    return vector;
  });
}
