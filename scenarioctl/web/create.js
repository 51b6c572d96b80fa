// Forms that create a transfer, a swap or a remark.

import { get, post } from "./api.js";
import { field, form, h, say, selection } from "./dom.js";

const ASSETS = [["DOT", "DOT"], ["1984", "USDT on Asset Hub"], ["1337", "USDC on Asset Hub"], ["0", "Native asset (HDX, DOT, KSM)"]];
const TRADED = [["0", "HDX"], ["5", "DOT"], ["10", "USDT"], ["22", "USDC"]];

const KINDS = {
  transfer: {
    title: "New transfer",
    path: "/api/create/scenario",
    id: (answer) => answer.result,
    fields: (chains) => [
      selection("source_chain", "Source chain", chains, "polkadot"),
      selection("dest_chain", "Destination chain", chains, "assetHub"),
      field("assetid", "Asset", { options: ASSETS, hint: "Id or symbol on the source chain.", required: true }),
      field("amount", "Amount", { hint: "In whole tokens, for example 1.5", inputmode: "decimal", required: true }),
      field("destination_address", "Receiver", { hint: "SS58 address or 0x public key on the destination chain.", required: true }),
    ],
  },
  swap: {
    title: "New swap",
    path: "/api/create/swap",
    id: (answer) => answer.swap.scenarioid,
    fields: () => [
      field("assetin", "You sell", { options: TRADED, hint: "Id or symbol on Hydration, for example 5 or DOT.", required: true }),
      field("assetout", "You receive", { options: TRADED, hint: "Id or symbol on Hydration, for example 5 or DOT.", required: true }),
      field("amount", "Amount to sell", { hint: "In whole tokens, for example 10", inputmode: "decimal", required: true }),
      field("min_received", "Minimum received (optional)", { hint: "In whole tokens, for example 900. Each draft uses this, or its quote minus the slippage if that is larger.", inputmode: "decimal" }),
      field("slippage", "Slippage in percent (optional)", { hint: "How far the minimum is below the quote. Default: 1.", inputmode: "decimal" }),
    ],
  },
  remark: {
    title: "New remark",
    path: "/api/create/remark",
    id: (answer) => answer.result,
    fields: (chains) => [
      selection("chain", "Chain", chains, "polkadot"),
      field("text", "Text", { multiline: true, hint: "The text becomes a public and permanent part of the chain's history.", required: true }),
    ],
  },
};

// Asks the user to confirm what the daemon refuses without a confirmation.
async function confirmed(ask) {
  try {
    return await ask({});
  } catch (error) {
    const name = error.body?.confirm;
    if (!name || !confirm(`${error.message}\n\nCreate it anyway?`)) throw error;
    return await ask({ [name]: true });
  }
}

export async function createView(kind, signal) {
  const { title, path, id, fields } = KINDS[kind];
  const { chains } = await get("/api/chains", {}, signal);
  const choices = chains.filter(({ role }) => role !== "contracts").map(({ name, title: words }) => [name, words === name ? name : `${words} (${name})`]);
  return h("section", { class: "narrow" },
    h("h1", { tabindex: "-1" }, title),
    form("Create", async (given) => {
      const answer = await confirmed((more) => post(path, { ...given, ...more }));
      if (answer.warnings.length) say(`Warning: ${answer.warnings.join("; ")}`);
      location.hash = `#/create/?diagramData=${encodeURIComponent(id(answer))}`;
    }, fields(choices)));
}
