"""Built by the program, signed here by a dev key, assembled and broadcast by the program: on real
runtimes."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.chains.addresses import format_account
from scenarioctl.config import load_settings
from tests.conftest import Ended, Run
from tests.live.conftest import Live
from tests.live.recorder import clock, fresh, pause
from tests.messages import says
from tests.runner import finish
from tests.signing import dev_key, ecdsa_signature, ed25519_key

pytestmark = pytest.mark.live

#: What each transfer moves: well above every existential deposit, in the smallest unit of the
#: native asset.
AMOUNT = 5 * 10**12
#: Chain -> its native asset.
NATIVE = {"liveRelay": "KSM", "liveHub": "KSM", "liveDex": "HDX"}

Sign = Callable[[bytes], bytes]


@dataclass(frozen=True, kw_only=True)
class Wallet:
    """An account, and how it signs."""

    account: bytes
    sign: Sign

    @property
    def address(self) -> str:
        return format_account(self.account, 42)


def alice() -> Wallet:
    return Wallet(account=dev_key().public_key, sign=dev_key().sign)


def stranger() -> Wallet:
    """Return an account that nobody has used."""
    key = dev_key(f"//scenarioctl//{fresh(8).hex()}")
    return Wallet(account=key.public_key, sign=key.sign)


def by_ed25519() -> Wallet:
    key = ed25519_key(fresh(32))
    return Wallet(account=key.public_key, sign=key.sign)


def by_ecdsa() -> Wallet:
    seed = fresh(32)
    return Wallet(
        account=ecdsa_signature(b"", seed)[0], sign=lambda data: ecdsa_signature(data, seed)[1]
    )


@pytest.fixture(scope="module")
def chains(live_config: Path) -> Iterator[Application]:
    app = Application(load_settings({"config": str(live_config)}, {}))
    yield app
    finish(app.close())


@dataclass(frozen=True, kw_only=True)
class Tool:
    """The program on the live chains, and what is seen of them beside it."""

    run: Run
    config: Path
    app: Application

    def __call__(self, *line: str) -> Ended:
        return self.run("--config", str(self.config), *line)

    def asked(self, *line: str) -> Any:
        ended = self("--json", *line)
        assert ended.code == 0, ended
        return json.loads(ended.out)

    def free(self, chain: str, account: bytes) -> int:
        client = self.app.client(self.app.registry.find(chain))
        return int(finish(client.storage("System", "Account", account))["data"]["free"])

    def transfer(self, chain: str, to: bytes, *, onto: str = "", amount: int = AMOUNT) -> str:
        answer = self.asked(
            "xcm", "asset-transfer", "--from", chain, "--to", onto or chain, "--assetid", NATIVE[
                chain],
            "--amount", str(amount), "--destinationaddress", "0x" + to.hex(),
        )  # fmt: skip
        return str(answer["txdata"])

    def signed(self, chain: str, tx: str, by: Wallet, *more: str, message: bytes = b"") -> str:
        """Return *tx* signed, the whole way through the program but for the signature."""
        payload = self.asked("tx", "payload", tx, "--chain", chain, "--sender", by.address, *more)
        made = by.sign(message or bytes.fromhex(payload["bytes_to_sign"][2:]))
        file = self.config.with_name("payload.json")
        file.write_text(json.dumps(payload))
        line = ("tx", "assemble", "--payload", str(file), "--signature", "0x" + made.hex())
        return str(self.asked(*line)["tx"])

    def broadcast(self, chain: str, tx: str, wait: str = "in-block") -> Any:
        return self.asked("broadcast", chain, tx, "--wait", wait, "--timeout", "120")


@pytest.fixture
def tool(scenarioctl: Run, live_config: Path, chains: Application) -> Tool:
    return Tool(run=scenarioctl, config=live_config, app=chains)


def refusal(ended: Ended) -> tuple[int, str]:
    answer = json.loads(ended.out)
    return ended.code, str(answer["error"])


@pytest.mark.parametrize("name", list(NATIVE))
@pytest.mark.parametrize("wait", ["in-block", "finalized"])
def test_what_is_broadcast_moves_the_balance(
    relay: Live, asset_hub: Live, dex: Live, tool: Tool, name: str, wait: str
) -> None:
    # Not from Alice's account: on a rig she may earn the fees of the blocks.
    sender, receiver = stranger(), stranger().account
    tool.broadcast(
        name, tool.signed(name, tool.transfer(name, sender.account, amount=10 * AMOUNT), alice())
    )

    answer = tool.broadcast(name, tool.signed(name, tool.transfer(name, receiver), sender), wait)

    assert (answer["status"], answer["success"]) == ("broadcasted", True)
    assert tool.free(name, receiver) == AMOUNT
    assert tool.free(name, sender.account) == 9 * AMOUNT - int(answer["fee"])


def test_a_teleport_that_is_broadcast_arrives(relay: Live, asset_hub: Live, tool: Tool) -> None:
    receiver = stranger().account

    tx = tool.signed("liveRelay", tool.transfer("liveRelay", receiver, onto="liveHub"), alice())
    answer = tool.broadcast("liveRelay", tx)

    deadline = clock() + 60
    while not tool.free("liveHub", receiver) and clock() < deadline:
        pause(0.5)
    arrived = tool.free("liveHub", receiver)
    assert answer["success"]
    assert AMOUNT * 99 // 100 < arrived < AMOUNT


@pytest.mark.parametrize("kind", [by_ed25519, by_ecdsa])
@pytest.mark.parametrize("name", list(NATIVE))
def test_other_kinds_of_keys_sign_too(
    relay: Live, asset_hub: Live, dex: Live, tool: Tool, name: str, kind: Callable[[], Wallet]
) -> None:
    wallet, receiver = kind(), stranger().account
    tool.broadcast(
        name, tool.signed(name, tool.transfer(name, wallet.account, amount=10 * AMOUNT), alice())
    )

    answer = tool.broadcast(name, tool.signed(name, tool.transfer(name, receiver), wallet))

    assert answer["success"]
    assert tool.free(name, receiver) == AMOUNT


@pytest.mark.parametrize(
    "more",
    [
        ("--era", "immortal", "--metadata-hash", "off"),
        ("--era", "immortal", "--metadata-hash", "auto"),
        ("--era", "4096", "--metadata-hash", "off", "--tip", "1000"),
    ],
    ids=["immortal", "immortal with a metadata hash", "a long era and a tip"],
)
def test_every_kind_of_signature_is_found_good_here_and_there(
    relay: Live, tool: Tool, more: tuple[str, ...]
) -> None:
    tx = tool.signed("liveRelay", tool.transfer("liveRelay", stranger().account), alice(), *more)

    ended = tool("--json", "broadcast", "liveRelay", tx, "--wait", "in-block")

    assert (ended.code, "Warning" in ended.err) == (0, False)


def test_the_same_cannot_be_sent_again(relay: Live, tool: Tool) -> None:
    tx = tool.signed("liveRelay", tool.transfer("liveRelay", stranger().account), alice())
    tool.broadcast("liveRelay", tx)

    code, error = refusal(tool("--json", "broadcast", "liveRelay", tx))

    assert code == 4
    assert "is already used, the next one is" in error


def test_a_transaction_for_another_chain_is_not_sent(
    relay: Live, asset_hub: Live, tool: Tool
) -> None:
    """They share a genesis hash on the rig: what tells them apart there is their runtimes."""
    # So that this chain's runtime is known here.
    tool.transfer("liveRelay", alice().account)
    tx = tool.signed(
        "liveRelay",
        tool.transfer("liveRelay", stranger().account),
        alice(),
        "--era",
        "immortal",
        "--metadata-hash",
        "off",
    )

    ended = tool("--json", "broadcast", "liveHub", tx)

    assert refusal(ended) == (2, says("tx", "liveRelay", "liveHub"))


def test_a_bad_signature_is_not_sent(relay: Live, tool: Tool) -> None:
    tx = tool.signed("liveRelay", tool.transfer("liveRelay", stranger().account), alice())
    # The last byte of the amount's receiver, inside the call, that was signed.
    changed = tx[:-20] + ("00" if tx[-20:-18] != "00" else "01") + tx[-18:]

    code, error = refusal(tool("--json", "broadcast", "liveRelay", changed))

    assert code == 2
    assert error.startswith(("tx has a wrong signature: ", "tx 0x"))


def test_an_account_that_cannot_pay_is_refused_by_the_chain(relay: Live, tool: Tool) -> None:
    tx = tool.signed("liveRelay", tool.transfer("liveRelay", alice().account), stranger())

    code, error = refusal(tool("--json", "broadcast", "liveRelay", tx))

    assert code == 6
    assert error.startswith(
        "liveRelay refused the transaction, its sender cannot pay the fee, or must keep "
        "the existential deposit (the node"
    )


def test_one_that_fails_in_its_block_says_why(relay: Live, tool: Tool) -> None:
    everything = tool.free("liveRelay", alice().account) * 2
    tx = tool.signed(
        "liveRelay", tool.transfer("liveRelay", stranger().account, amount=everything), alice()
    )

    ended = tool("--json", "broadcast", "liveRelay", tx, "--wait", "in-block")

    answer = json.loads(ended.out)
    assert (ended.code, answer["success"], answer["code"]) == (6, False, "chain_refused")
    assert "and failed there; its fee is spent: " in answer["error"]


def test_an_expired_signature_is_not_sent(relay: Live, tool: Tool) -> None:
    tx = tool.signed(
        "liveRelay", tool.transfer("liveRelay", stranger().account), alice(), "--era", "4"
    )
    for _ in range(5):
        other = tool.signed("liveRelay", tool.transfer("liveRelay", stranger().account), alice())
        tool.broadcast("liveRelay", other)

    code, error = refusal(tool("--json", "broadcast", "liveRelay", tx))

    assert code == 2
    assert error.startswith("tx has expired: it was signed for the 4 blocks from ")
