"""Wallets that a test injects into the page, which sign in the test's process, and a chain that
takes what they sign."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from scenarioctl.chains.registry import Chain, Registry
from scenarioctl.runtime.storage_keys import storage_key
from scenarioctl.runtime.table import RuntimeTable
from scenarioctl.transactions.extrinsic import extrinsic_hash
from scenarioctl.transactions.signing.payload import bytes_to_sign, read_wallet_payload
from scenarioctl.transactions.signing.signatures import encode_signed_extrinsic
from tests.blocks import block_hash, block_of, header_of, number_of
from tests.browser.page import Page
from tests.network import FakeChain, FakeNetwork, table_of
from tests.node import Gone
from tests.signing import dev_key
from tests.test_broadcast import PAID, SUCCESS, events

POLKADOT = Registry().find("polkadot")
#: What wallets write: addresses of no chain in particular.
ALICE_42 = "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY"
BOB_42 = "5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty"
ETHEREUM = {
    "address": "0x8097c3C354652CB1EEed3E5B65fBa2576470678A",
    "name": "Ether",
    "type": "ethereum",
}

_INJECT = """
window.asked = [];
window.injectedWeb3 = {};
for (const wallet of WALLETS) window.injectedWeb3[wallet.id] = {
  version: "1.0.0",
  enable: async (origin) => {
    window.askedBy = origin;
    if (wallet.refuses) throw new Error(wallet.refuses);
    if (wallet.silent) await new Promise(() => {});
    return {
      accounts: { get: async () => wallet.accounts },
      signer: {
        signPayload: (payload) =>
          new Promise((settle, fail) => window.asked.push({ payload, settle, fail })),
      },
    };
  },
};
"""


def alice(**more: Any) -> dict[str, Any]:
    return {"address": ALICE_42, "name": "Savings", "type": "sr25519", "genesisHash": None, **more}


def wallet(id: str = "talisman", *accounts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": id, "accounts": list(accounts or [alice()]), **more}


@contextmanager
def injected(page: Page, *wallets: dict[str, Any]) -> Iterator[None]:
    """Let every page that is opened find these wallets."""
    with page.with_script(_INJECT.replace("WALLETS", json.dumps(wallets))):
        yield


@contextmanager
def stubbed(page: Page, script: str) -> Iterator[None]:
    """Answer some requests of every page that is opened: `script` sees `target`, and returns a
    body, or nothing."""
    source = (
        "{const real = window.fetch; window.fetch = async (target, options) => {"
        "  const found = await (async (target) => {SCRIPT})(String(target));"
        "  if (found === 'gone') throw new TypeError('gone');"
        "  if (found) return new Response(JSON.stringify(found.body ?? found), {status: "
        "found.status ?? 200});"
        "  return real(target, options);"
        "}}"
    ).replace("SCRIPT", script)
    with page.with_script(source):
        yield


def payload_asked_for(page: Page) -> dict[str, Any]:
    """Return the payload that the page has a wallet sign."""
    page.wait(lambda: page.browser.execute_script("return window.asked.length"))
    return dict(page.browser.execute_script("return window.asked[0].payload"))


def signature_of(
    payload: dict[str, Any],
    uri: str = "//Alice",
    *,
    chain: Chain = POLKADOT,
    table: RuntimeTable | None = None,
) -> str:
    """Return what a wallet answers: the type of the signature, and the signature."""
    to_sign = read_wallet_payload(table or table_of("polkadot"), chain, payload)
    return f"0x01{dev_key(uri).sign(bytes_to_sign(to_sign.payload)).hex()}"


def extrinsic_of(payload: dict[str, Any], signature: str) -> str:
    """Return the signed transaction that *payload* and *signature* make."""
    to_sign = read_wallet_payload(table_of("polkadot"), POLKADOT, payload)
    data = encode_signed_extrinsic(
        table_of("polkadot"),
        to_sign.call_data,
        to_sign.extra,
        account=to_sign.account,
        scheme="sr25519",
        signature=bytes.fromhex(signature[4:]),
    )
    return "0x" + data.hex()


def answer(page: Page, **result: Any) -> None:
    page.browser.execute_script("window.asked.shift().settle(arguments[0])", {"id": 1, **result})


def refuse(page: Page, reason: str) -> None:
    page.browser.execute_script("window.asked.shift().fail(new Error(arguments[0]))", reason)


class LivingChain:
    """Gives a fake chain blocks: each transaction that it takes is in the next one."""

    def __init__(self, network: FakeNetwork, name: str = "polkadot", *, best: int = 1003) -> None:
        self.chain: FakeChain = network.chains[name]
        self.genesis = Registry().find(name).genesis
        self.best, self.finalized = best, best - 3
        #: What was sent, in order.
        self.taken: list[str] = []
        #: The transactions of a block, and its events.
        self.blocks: dict[int, list[str]] = {}
        self.events: dict[int, str] = {}
        #: How long its newest block is ago, by the clock of the chain.
        self.hours_passed = 0
        table = self.chain.table
        self._events = storage_key(table, "System", "Events", ()).hex
        self._now = storage_key(table, "Timestamp", "Now", ()).hex
        self.chain.node.answers.update(
            chain_getBlockHash=lambda number=None: (
                self.hash_of(self.best if number is None else number)
                if (number or 0) <= self.best
                else None
            ),
            chain_getFinalizedHead=lambda: self.hash_of(self.finalized),
            chain_getHeader=lambda at=None: header_of(at or self.hash_of(self.best)),
            state_getStorage=self._storage,
            chain_getBlock=self._block,
            author_submitExtrinsic=self._take,
            system_properties={"tokenSymbol": "DOT", "tokenDecimals": 10, "ss58Format": 0},
        )

    def hash_of(self, number: int) -> str:
        return self.genesis if number == 0 else block_hash(number, self.blocks.get(number, ()))

    def number_of(self, at: str | None) -> int:
        return self.best if at is None else number_of(at)

    def _storage(self, key: str, at: str | None = None) -> str | None:
        if key == self._now:
            # Six seconds for a block.
            late = 3_600_000 * self.hours_passed if at is None else 0
            return (
                "0x"
                + (1_700_000_000_000 + 6000 * self.number_of(at) + late).to_bytes(8, "little").hex()
            )
        if key == self._events:
            return self.events.get(self.number_of(at))
        return self.chain.storage.get(key)

    def _block(self, at: str | None = None) -> dict[str, Any]:
        return block_of(at or self.hash_of(self.best), self.blocks.get(self.number_of(at), []))

    def include(self, *outcome: Any) -> None:
        """Make a block of the newest transaction, whose events are *outcome*."""
        number = self.best + 1
        self.events[number] = events(
            (0, SUCCESS), *((1, each) for each in outcome or (PAID, SUCCESS))
        )
        self.blocks[number] = ["0x280403000b00000000000000", self.taken[-1]]
        # The daemon, which asks all the time, sees the block as a whole.
        self.best = number

    def finalize(self) -> None:
        self.finalized = self.best

    @contextmanager
    def losing_answers(self) -> Iterator[None]:
        """Break the connection whenever a transaction is sent."""

        def lose(tx: str) -> str:
            raise Gone("killed")

        self.chain.node.answers["author_submitExtrinsic"] = lose
        try:
            yield
        finally:
            self.chain.node.answers["author_submitExtrinsic"] = self._take

    def _take(self, tx: str) -> str:
        self.taken.append(tx)
        return extrinsic_hash(bytes.fromhex(tx[2:]))
