// Answer with polkadot.js what `test_polkadot_js.py` asks: node ask.mjs FOLDER ENDPOINT '[["query", pallet, entry, …keys], …]'
import { createRequire } from 'node:module'

const [folder, endpoint, questions] = process.argv.slice(2)
const { ApiPromise, WsProvider } = createRequire(folder + '/')('@polkadot/api')

// Integers as decimal text, and a variant without fields by its name alone, as scenarioctl prints them.
const plain = (value) => {
  if (typeof value === 'number' || typeof value === 'bigint') return value.toString()
  if (Array.isArray(value)) return value.map(plain)
  if (value === null || typeof value !== 'object') return value
  const [name, ...more] = Object.keys(value)
  if (name && !more.length && value[name] === null) return name[0].toUpperCase() + name.slice(1)
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]))
}

const api = await ApiPromise.create({ provider: new WsProvider(endpoint), noInitWarn: true })
const answers = []
for (const [kind, pallet, name, ...args] of JSON.parse(questions)) {
  if (kind === 'const') answers.push(plain(api.consts[pallet][name].toPrimitive()))
  else if (kind === 'call') answers.push(plain((await api.call[pallet][name](...args)).toPrimitive()))
  else if (kind === 'entries') {
    const found = await api.query[pallet][name].entries(...args)
    answers.push(found.map(([key, value]) => [plain(key.toHuman()), plain(value.toPrimitive())]))
  } else answers.push(plain((await api.query[pallet][name](...args)).toPrimitive()))
}
console.log(JSON.stringify(answers))
process.exit(0)
