// What arrived in the last simulation of a scenario's transaction, for its picture; known in this tab.

import { grouped } from "./format.js";
import { keepIn, readKept } from "./storage.js";

const name = ({ scenario }) => `arrival ${scenario}`;

export function keepArrival(source, check) {
  const arrived = check.arrival.credited;
  if (!arrived?.human) return;
  const words = `${grouped(arrived.human)} arrive`;
  keepIn("sessionStorage", name(source), { ...keptArrivals(source.scenario), [source.node ?? ""]: words });
}

// Returns the words for each transaction that was simulated, by its node; an empty id stands for the only one.
export function keptArrivals(scenario) {
  return readKept("sessionStorage", name({ scenario })) ?? {};
}
