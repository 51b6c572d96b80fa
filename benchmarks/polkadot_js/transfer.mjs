// Connect to the endpoint named and print the call of a teleport from a relay chain to its Asset Hub.
import { ApiPromise, WsProvider } from '@polkadot/api'

const api = await ApiPromise.create({ provider: new WsProvider(process.argv[2]), noInitWarn: true })
const account = '0x8eaf04151687736326c9fea17e25fc5287613693c912909cb226aa4794f26a48'
const call = api.tx.xcmPallet.limitedTeleportAssets(
  { V5: { parents: 0, interior: { X1: [{ Parachain: 1000 }] } } },
  { V5: { parents: 0, interior: { X1: [{ AccountId32: { network: null, id: account } }] } } },
  { V5: [{ id: { parents: 0, interior: 'Here' }, fun: { Fungible: '12345678900' } }] },
  0,
  'Unlimited'
)
console.log(call.method.toHex())
process.exit(0)
