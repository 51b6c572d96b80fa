// editor.mjs SOURCE API WORKER: drives the web editor's own functions, of the folder SOURCE, against a daemon.
//
// What they import beside each other is replaced: the browser's store holds one diagram, messages go to the console.

import { build } from 'esbuild';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { fileURLToPath, pathToFileURL } from 'node:url';

const [source, api, worker] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const side = { chain: 'polkadot', assetId: 0, address: '14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3', amount: '1.5', symbol: 'DOT' };
const diagram = {
  nodes: [{ id: 'action_1', type: 'action', position: { x: 0, y: 0 }, data: { label: 'action' }, formData: { action: 'Remark', actionData: { actionType: 'Remark', source: { ...side, target: 'é 漢字' }, target: side } } }],
  edges: [],
};
const editorsId = '3f9c1f0e-5a3c-4a57-9c41-0d4f0d2f7f10';
const stubs = {
  useAppStore: `export default { getState: () => ({ scenarios: { ${JSON.stringify(editorsId)}: { diagramData: ${JSON.stringify(diagram)} } } }) };`,
  'react-hot-toast': 'export default { success: (text) => console.log("toast", text), error: (text) => console.log("toast error", text) };',
  config: `export default { baseUrl: ${JSON.stringify(api)}, threadbagUrl: ${JSON.stringify(worker)} };`,
  AxiosService: `import axios from 'axios'; export default axios.create({ baseURL: ${JSON.stringify(worker)} });`,
};
const replace = {
  name: 'replace',
  setup (builder) {
    builder.onResolve({ filter: /(useAppStore|react-hot-toast|config|AxiosService)$/ }, ({ path }) => ({ path: path.split('/').at(-1), namespace: 'stub' }));
    builder.onLoad({ filter: /.*/, namespace: 'stub' }, ({ path }) => ({ contents: stubs[path], loader: 'js', resolveDir: here }));
  },
};

const entry = `export * from ${JSON.stringify(join(source, 'components/Bagpipes/TemplateFeatures/compress.ts'))};
export { default as service } from ${JSON.stringify(join(source, 'services/ScenarioService.js'))};`;
mkdirSync(join(here, 'built'), { recursive: true });
const outfile = join(here, 'built', 'editor.cjs');
await build({ stdin: { contents: entry, resolveDir: here }, bundle: true, platform: 'node', format: 'cjs', outfile, plugins: [replace], nodePaths: [join(here, 'node_modules')], logLevel: 'error' });
const { default: original } = await import(pathToFileURL(outfile).href);
const { compressString, decompressString, service } = original;

const say = console.log;
console.log = () => {};
console.error = () => {};
const results = {};
async function tell (name, work) {
  try {
    results[name] = await work();
  } catch (error) {
    results[name] = { failed: error.response?.status ?? error.message, answer: error.response?.data };
  }
}
const saved = await compressString(JSON.stringify(diagram));
await tell('saved', () => saved);
await tell('opened as it was saved', async () => {
  const text = await decompressString(saved);
  const same = isDeepStrictEqual(JSON.parse(text), diagram);
  return same && text !== JSON.stringify(diagram) ? 'the same diagram, its keys in another order' : same;
});
await tell('started', () => service.startPersistScenario(editorsId));
await tell('started again', () => service.startPersistScenario(editorsId));
await new Promise((resolve) => setTimeout(resolve, 2000));
await tell('id of the next save', () => service.get_api_scenario_id(editorsId));
await tell('log', async () => service.fetchPersistedScenarioLogs(results['id of the next save']));
await tell('log of the first save', () => service.fetchPersistedScenarioLogs(saved));
await tell("stopped by the editor's own id", () => service.stopPersistScenario(editorsId));
await tell('stopped', () => service.stopPersistScenario(saved));
await tell('all workers', () => service.fetchAllWorkers());
for (const [name, result] of Object.entries(results)) say(`${name}: ${JSON.stringify(result)}`);
