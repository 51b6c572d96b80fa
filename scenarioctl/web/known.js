// What the page knows by names: the accounts of the address book, whatever the spelling of their addresses, and the chains.

import { get } from "./api.js";

const LETTERS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
let book = null;

// The bytes of the account in an address, as 0x hex: the same for all its spellings.  The daemon judges whether it is an address.
export function accountOf(address) {
  if (/^0x/i.test(address)) return address.toLowerCase();
  const digits = [...address].map((letter) => LETTERS.indexOf(letter));
  if (address.length < 46 || digits.includes(-1)) return address;
  const number = digits.reduce((sum, digit) => sum * 58n + BigInt(digit), 0n);
  // 32 bytes, before two of a checksum.
  return `0x${BigInt.asUintN(256, number >> 16n).toString(16).padStart(64, "0")}`;
}

// Returns the entries of the book.  It is read once, and again after `forget`.
export function known() {
  book ??= get("/api/addresses").then(({ addresses }) => addresses).catch((error) => {
    book = null;
    throw error;
  });
  return book;
}

export function forget() {
  book = null;
}

// The name of the account with this address; "" if it has none, or if the book can't be read.
export async function knownName(address) {
  try {
    const account = accountOf(address);
    return (await known()).find((each) => each.account === account)?.name ?? "";
  } catch {
    return "";
  }
}

// The entry that somebody means who types a name of the book; undefined if there is none.
export async function named(text) {
  const wanted = text.trim().toLowerCase();
  return wanted && (await known()).find(({ name }) => name.toLowerCase() === wanted);
}

// Who can sign for an account that others act for: the signatories of the multisig around all else; [] of proxies, which only the chain tells.
export const signatoriesOf = ({ layers }) => layers.at(-1).signatories ?? [];

// The view of what waits for the approval of a multisig's signatories.
export const approvalsOf = (name) => `#/multisig/${encodeURIComponent(name)}`;

// Chains by what people call them, once the daemon has told: sentences name a chain so.
const titles = new Map();
let listed = null;

export function nameChains(chains) {
  for (const { name, title } of chains) titles.set(name, title);
}

export const chainName = (chain) => titles.get(chain) ?? chain;

// Returns the chains that the daemon knows, which are read once.
export function chains() {
  listed ??= get("/api/chains").then((answer) => {
    nameChains(answer.chains);
    return answer.chains;
  }).catch((error) => {
    listed = null;
    throw error;
  });
  return listed;
}
