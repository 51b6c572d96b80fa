// sign_as_extension.mjs URI < SignerPayloadJSON: print what the polkadot.js extension answers to signer.signPayload,
// with the same calls to polkadot.js as the extension makes once its user has agreed.
import { readFileSync } from 'node:fs'
import { Keyring } from '@polkadot/keyring'
import { TypeRegistry } from '@polkadot/types'
import { cryptoWaitReady } from '@polkadot/util-crypto'

await cryptoWaitReady()
const payload = JSON.parse(readFileSync(0, 'utf8'))
const registry = new TypeRegistry()
registry.setSignedExtensions(payload.signedExtensions)
const key = new Keyring({ type: 'sr25519' }).addFromUri(process.argv[2])
const { signature } = registry.createType('ExtrinsicPayload', payload, { version: payload.version }).sign(key)
console.log(JSON.stringify({ id: 1, signature }))
