// Makes tests/data/vectors/share.json: share strings as the web editor makes them, pako's zlib stream in base64.

import { readFileSync, writeFileSync } from 'node:fs';
import { deflate } from 'pako';
import { must, ROOT } from './runtimes.mjs';

const TARGET = new URL('tests/data/vectors/share.json', ROOT);
const ALICE = '5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY';

const edge = (source, target) => ({
  id: `${source}-${target}`, source, target, type: 'simplebezier', label: '', markerEnd: { strokeWidth: 1, type: 'arrow' },
  style: { stroke: 'green', strokeWidth: 2 },
});
const chain = (id, x, formData) => ({
  id, type: 'chain', position: { x, y: 304.2192017510976 }, data: { image: './chain.svg', label: 'Chain', name: 'Chain' }, style: {}, formData, width: 245,
  height: 443, selected: false, dragging: false,
});

const DIAGRAMS = {
  empty: { nodes: [], edges: [] },
  transfer: {
    nodes: [
      chain('chain_a1', 552.3836857519447, { address: ALICE, amount: '1.5', asset: { assetId: 0, name: 'polkadotDot', symbol: 'DOT' }, chain: 'polkadot', contact: null, delay: null }),
      {
        id: 'action_b2', type: 'action', position: { x: -933.5, y: 1e-7 }, data: { label: 'action' }, formData: {
          action: 'xTransfer', actionData: {
            actionType: 'xTransfer', source: { address: ALICE, amount: '1.5', assetId: 0, chain: 'polkadot', symbol: 'DOT' },
            target: { address: ALICE, assetId: 1000, chain: 'assetHub', symbol: 'DOT' },
          },
        }, width: 200, height: 250,
      },
      chain('chain_c3', 1251, { address: ALICE, amount: null, asset: { assetId: 1000, name: 'assetHubDot', symbol: 'DOT' }, chain: 'assetHub', contact: null, delay: null }),
    ],
    edges: [edge('chain_a1', 'action_b2'), edge('action_b2', 'chain_c3')],
  },
  unfinished: { nodes: [{ id: 'action_1', type: 'action', position: { x: 0, y: 0 }, data: {} }], edges: [], viewport: { x: 0, y: 0, zoom: 0.75 } },
  remark: {
    nodes: [
      { id: 'n0', type: 'chain', position: { x: 1, y: 2 }, formData: { chain: 'hydraDx' } },
      {
        id: 'n1', type: 'action', position: { x: 3, y: 4 }, formData: {
          action: 'Remark', actionData: { actionType: 'Remark', source: { chain: 'hydraDx', target: 'é 漢字 👩‍🚀 "quoted" \\ \n\t\u0000\u2028 <span class="pill" data-id="eventData.a">' } },
        },
      },
    ],
    edges: [edge('n0', 'n1')],
  },
  // Larger than the 32 KiB window, so that the stream has more than one block.
  large: {
    nodes: Array.from({ length: 130 }, (_, i) => chain(`chain_${i}`, i / 7, { amount: `${i}.${i}`, chain: ['polkadot', 'assetHub', 'hydraDx'][i % 3] })),
    edges: Array.from({ length: 129 }, (_, i) => edge(`chain_${i}`, `chain_${i + 1}`)),
  },
};

const base64 = (bytes) => Buffer.from(bytes).toString('base64');
const share = (document, options) => base64(deflate(JSON.stringify(document), options));

// The editor's own form, then what becomes of it in mails, terminals and links.
const FORMS = {
  plain: (document) => share(document),
  'newline-at-end': (document) => `${share(document)}\n`,
  'broken-into-lines': (document) => share(document).replace(/.{76}/g, '$&\r\n'),
  unpadded: (document) => share(document).replace(/=+$/, ''),
  urlsafe: (document) => share(document).replace(/\+/g, '-').replace(/\//g, '_'),
  link: (document) => `https://editor.example/#/create/?diagramData=${encodeURIComponent(share(document))}`,
  'link-with-more': (document) => `https://editor.example/create?diagramData=${encodeURIComponent(share(document))}&theme=dark#top`,
  stored: (document) => share(document, { level: 0 }),
  fastest: (document) => share(document, { level: 1 }),
  best: (document) => share(document, { level: 9, memLevel: 9 }),
  'small-window': (document) => share(document, { windowBits: 9 }),
  huffman: (document) => share(document, { strategy: 2 }),
  fixed: (document) => share(document, { strategy: 4 }),
  indented: (document) => base64(deflate(JSON.stringify(document, null, 2))),
};

const vectors = Object.entries(DIAGRAMS).map(([name, document]) => ({
  name,
  document,
  // The large one is there for its size: one form is enough.
  shares: Object.fromEntries(
    Object.entries(FORMS).filter(([form]) => name !== 'large' || form === 'plain').map(([form, make]) => [form, make(document)])
  ),
}));

const { dependencies } = JSON.parse(readFileSync(new URL('package.json', import.meta.url)));
const lines = vectors.map((vector) => JSON.stringify(vector)).join(',\n');
const content = `{"made_by": {"pako": "${dependencies.pako}"}, "vectors": [\n${lines}\n]}\n`;

if (process.argv.includes('--check')) {
  must(readFileSync(TARGET, 'utf8') === content, 'tests/data/vectors/share.json is not what pako makes: run `node editor_share.mjs`');
  console.log(`share.json is current: ${vectors.length} diagrams`);
} else {
  writeFileSync(TARGET, content);
  console.log(`share.json: ${vectors.length} diagrams`);
}
