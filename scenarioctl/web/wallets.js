// Wallets of the browser, as they offer themselves in `window.injectedWeb3`: extensions, and the browsers of phone wallets.

const TITLES = {
  enkrypt: "Enkrypt", "fearless-wallet": "Fearless", "polkadot-js": "polkadot.js", polkagate: "PolkaGate", "subwallet-js": "SubWallet", talisman: "Talisman",
};

// Seconds. A person answers the first and the last in a window of the wallet.
const LIMITS = { enable: 120, accounts: 20, sign: 600 };

export function titleOf(id) {
  if (id === "polkadot-js" && window.walletExtension?.isNovaWallet) return "Nova Wallet";
  return TITLES[id] ?? clipped(id);
}

export function installed() {
  const found = window.injectedWeb3;
  return found !== null && typeof found === "object" ? Object.keys(found).sort() : [];
}

// What a wallet says is a text from elsewhere, and may be anything.
function clipped(value) {
  const text = typeof value === "string" ? value : typeof value?.message === "string" ? value.message : "";
  return text.length > 200 ? `${text.slice(0, 199)}…` : text;
}

// Waits for a wallet, for a limited time, and until `signal` aborts.
function answered(asked, seconds, late, signal) {
  return new Promise((settle, fail) => {
    const stop = () => fail(new DOMException("stopped", "AbortError"));
    const timer = setTimeout(() => fail(new Error(late)), seconds * 1000);
    signal?.addEventListener("abort", stop);
    if (signal?.aborted) stop();
    // Some wallets reject without any reason.
    Promise.resolve(asked).then(settle, (reason) => fail(reason ?? new Error())).finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    });
  });
}

// Returns the accounts that a wallet shows this page, and its signer.
export async function connect(id, signal) {
  const title = titleOf(id);
  const wallet = window.injectedWeb3?.[id];
  if (typeof wallet?.enable !== "function") throw new Error(`${title} is not in this browser. Enable the extension and reload the page.`);
  let enabled;
  try {
    enabled = await answered(wallet.enable("scenarioctl"), LIMITS.enable, "no answer", signal);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error(`${title} did not allow this page (${reasonOf(error)}). Allow ${location.origin} in the settings of the wallet, then connect again.`);
  }
  try {
    const accounts = await answered(enabled.accounts.get(), LIMITS.accounts, "no answer", signal);
    return { accounts: readAccounts(accounts, id), signer: enabled.signer };
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error(`${title} did not show its accounts (${reasonOf(error)}). Unlock the wallet, then connect again.`);
  }
}

const reasonOf = (error) => clipped(error) || "no reason given";

function readAccounts(accounts, wallet) {
  const text = (value) => (typeof value === "string" ? value : "");
  return accounts
    .filter((each) => text(each?.address))
    .map((each) => ({ wallet, address: each.address, name: clipped(each.name), type: text(each.type), genesis: text(each.genesisHash) }));
}

// Why an account can't sign on `chain`; "" if it can.
export function unfit(account, chain) {
  const ethereum = account.type === "ethereum" || /^0x[0-9a-f]{40}$/i.test(account.address);
  if (ethereum && chain.account_bytes !== 20) return `is an Ethereum account; accounts on ${chain.title} have ${chain.account_bytes} bytes`;
  if (!ethereum && chain.account_bytes === 20) return `is not an Ethereum account, which ${chain.title} needs`;
  if (account.type && !["sr25519", "ed25519", "ecdsa", "ethereum"].includes(account.type)) return `has a key of type ${clipped(account.type)}, which ${chain.title} does not know`;
  if (account.genesis && chain.genesis && account.genesis !== chain.genesis) return `is limited to another chain by the wallet`;
  return "";
}

// A copy of plain data in which nothing can be changed.
const frozen = (data) => JSON.parse(JSON.stringify(data), (_, value) => Object.freeze(value));

// Has the wallet of `account` sign; returns what it answers, `{signature, signedTransaction}`. It gets a copy of the payload.
export async function signWith(account, payload, signal) {
  const title = titleOf(account.wallet);
  const { accounts, signer } = await connect(account.wallet, signal);
  if (!accounts.some(({ address }) => address === account.address)) {
    throw new Error(`${title} does not show this page the account ${account.address} any more. Allow it in the wallet, or choose another account.`);
  }
  if (typeof signer?.signPayload !== "function") throw new Error(`${title} can't sign transactions. Sign another way.`);
  try {
    const answer = await answered(signer.signPayload(frozen(payload)), LIMITS.sign, "no answer", signal);
    return { signature: hexOf(answer?.signature), signedTransaction: hexOf(answer?.signedTransaction) };
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error(`${title} did not sign (${reasonOf(error)}). Nothing was sent.`);
  }
}

// Some wallets answer with bytes.
function hexOf(value) {
  if (value instanceof Uint8Array) return `0x${[...value].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
  return typeof value === "string" && /^0x([0-9a-f]{2})+$/i.test(value) ? value.toLowerCase() : "";
}
