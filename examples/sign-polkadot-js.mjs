#!/usr/bin/env node
// sign-polkadot-js.mjs < payload.json: sign what `scenarioctl tx payload --json` printed, with polkadot.js, and print the signature.
// The mnemonic or URI of an sr25519 key is in SIGNER_KEY. Needs: npm install
import { readFileSync } from 'node:fs'
import { Keyring } from '@polkadot/keyring'
import { cryptoWaitReady } from '@polkadot/util-crypto'
import { hexToU8a, u8aToHex } from '@polkadot/util'

await cryptoWaitReady()
const payload = JSON.parse(readFileSync(0, 'utf8'))
const key = new Keyring({ type: 'sr25519' }).addFromUri(process.env.SIGNER_KEY)
console.error(`${key.address} signs: ${payload.says}`)
// With the byte that names the kind of key.
console.log(u8aToHex(key.sign(hexToU8a(payload.bytes_to_sign), { withType: true })))
