#!/usr/bin/env node
// sign-papi.mjs NODE CALL: sign a call with polkadot-api (PAPI), and print the signed transaction for `scenarioctl tx send`.
// CALL is the call_data that `tx decode` prints, NODE a node of the chain: PAPI reads nonce, era and runtime there itself.
// The mnemonic of an sr25519 key, with a derivation like //0 behind it, is in SIGNER_KEY. Needs Node.js 22 and: npm install
import { Binary, createClient } from 'polkadot-api'
import { getPolkadotSigner } from 'polkadot-api/signer'
import { getWsProvider } from 'polkadot-api/ws'
import { sr25519CreateDerive } from '@polkadot-labs/hdkd'
import { DEV_PHRASE, entropyToMiniSecret, mnemonicToEntropy } from '@polkadot-labs/hdkd-helpers'

const [node, call] = process.argv.slice(2)
const [, phrase, path] = process.env.SIGNER_KEY.match(/^([^/]*)(.*)$/)
const key = sr25519CreateDerive(entropyToMiniSecret(mnemonicToEntropy(phrase || DEV_PHRASE)))(path)
const client = createClient(getWsProvider(node))
const tx = await client.getUnsafeApi().txFromCallData(Binary.fromHex(call))
console.error('signs:', tx.decodedCall.type, tx.decodedCall.value.type)
const signed = await tx.sign(getPolkadotSigner(key.publicKey, 'Sr25519', key.sign))
console.log('0x' + Buffer.from(signed).toString('hex'))
client.destroy()
