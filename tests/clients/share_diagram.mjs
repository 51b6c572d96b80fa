// share_diagram.mjs BASE_URL: saves the diagram on stdin as the web editor does, reads it back, prints both.
//
// What stands between the two dashed lines is how the editor makes and reads a share string.

import { readFileSync } from 'node:fs';
import { deflate, inflate } from 'pako';

// ---
function compress (diagram) {
  const bytes = deflate(JSON.stringify(diagram));
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

function decompress (text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return JSON.parse(inflate(bytes, { to: 'string' }));
}
// ---

const [base] = process.argv.slice(2);
const diagram = JSON.parse(readFileSync(0, 'utf8'));
const saved = await fetch(`${base}/api/template/saveUrl`, {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ url: compress(diagram) }),
});
const { success, shortUrl } = await saved.json();
const got = await fetch(`${base}/api/template/getUrl/${shortUrl}`);
const { longUrl } = await got.json();

console.log(JSON.stringify({ success, shortUrl, diagram: decompress(longUrl) }));
