// Signed transactions that the daemon has not taken yet. This browser keeps them, so that a closed tab loses none.

import { tokenMark } from "./api.js";
import { keepIn, readKept } from "./storage.js";

// A token guards them too: they are shown to whoever gives the one with which they were signed.
const key = () => `scenarioctl.signed${tokenMark() && `.${tokenMark()}`}`;

function all() {
  const found = readKept("localStorage", key());
  return found !== null && typeof found === "object" && !Array.isArray(found) ? found : {};
}

const write = (records) => keepIn("localStorage", key(), records);

// Of one that isn't put together yet (`half`), the bytes and the hash are empty.
const TEXTS = ["source", "chain", "tx", "signed", "hash", "address"];

const whole = (record) => record !== null && typeof record === "object" && TEXTS.every((name) => typeof record[name] === "string" && (record[name] || record.half));

// `source` names what was signed: a transaction of a scenario, or a draft of a job.
export function keep(source, record) {
  write({ ...all(), [source]: record });
}

export function kept(source) {
  const record = all()[source];
  return whole(record) ? record : null;
}

export function keptByHash(hash) {
  return Object.values(all()).find((record) => whole(record) && record.hash === hash) ?? null;
}

// All that were signed and are not sent, as far as this browser knows.
export const waiting = () => Object.values(all()).filter(whole);

export function forget(hash) {
  write(Object.fromEntries(Object.entries(all()).filter(([, record]) => record?.hash !== hash)));
}

export function drop(source) {
  const others = Object.entries(all()).filter(([each]) => each !== source);
  write(others.length ? Object.fromEntries(others) : null);
}
