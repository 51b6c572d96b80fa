// What the browser keeps for this page.  It may refuse to keep anything, or hold something else than this version wrote.

// What it refused to keep is known until the page is reloaded.
const refused = new Map();

// `area` is "localStorage" or "sessionStorage".  Returns null if there is nothing that can be read.
export function readKept(area, key) {
  try {
    return JSON.parse(globalThis[area].getItem(key));
  } catch {
    return refused.get(`${area} ${key}`) ?? null;
  }
}

// Null keeps nothing.
export function keepIn(area, key, value) {
  try {
    if (value === null) globalThis[area].removeItem(key);
    else globalThis[area].setItem(key, JSON.stringify(value));
  } catch {
    refused.set(`${area} ${key}`, value);
  }
}

// Whether a transfer is drawn as one card; the choice is that of the browser.
export const isCompact = () => readKept("localStorage", "compact") !== false;
