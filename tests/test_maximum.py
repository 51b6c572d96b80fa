"""`--amount max`: all that a sender can send, with what the chain takes for it."""

import json
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from scenarioctl.chains.assets import Assets
from scenarioctl.chains.registry import Registry
from scenarioctl.transactions import connected_transfer as maximum_transfer
from scenarioctl.transactions.connected_transfer import TransferBuilder
from scenarioctl.transactions.transfer.request import Transfer
from tests.conftest import BOB, Ended, Run
from tests.messages import Says, says
from tests.network import FakeNetwork
from tests.runner import finish
from tests.test_check import (
    ALICE,
    ALICE_KEY,
    DELIVERY,
    DOT,
    FEE,
    RELAY_TO_HUB,
    account,
    call_effects,
    fill,
    info,
    message,
)
from tests.test_costs import HDX, pay_in, registered

#: Existential deposit of the relay chain.
DEPOSIT = DOT
USDT = {"status": "Liquid", "reason": "Consumer", "extra": None}
#: Of USDT on Asset Hub.
DETAILS = {
    **dict.fromkeys(("owner", "issuer", "admin", "freezer"), ALICE_KEY),
    "supply": 10**12,
    "deposit": 0,
    "min_balance": 10_000,
    "is_sufficient": True,
    "accounts": 1,
    "sufficients": 1,
    "approvals": 0,
    "status": "Live",
}


@pytest.fixture
def network(network: FakeNetwork) -> FakeNetwork:
    fill(network)
    hub = network.chains["assetHub"]
    for chain in network.chains.values():
        chain.store("System", "Number", value=100)
    hub.store("System", "Account", ALICE_KEY, value=account(5 * DOT))
    hub.api["TransactionPaymentApi_query_info"] = info(FEE)
    return network


def create(network: FakeNetwork, scenarioctl: Run, *more: str, to: str = "polkadot") -> Ended:
    return scenarioctl(
        *("--config", str(network.config), "create", "scenario", "--from", "polkadot", "--to", to),
        *(
            *("--asset", "DOT", "--amount", "max", "--destination-address", BOB, "--sender", ALICE),
            *more,
        ),
    )


def drafted(network: FakeNetwork, scenarioctl: Run, ended: Ended) -> tuple[int, str]:
    """Return the raw amount of a scenario, and the call that its first transaction makes."""
    full = scenarioctl(
        "--config", str(network.config), "scenario", "full", ended.out.strip(), "--json"
    )
    tx = json.loads(full.out)["result"]["tx"]
    line = ("--config", str(network.config), "tx", "decode", tx, "--chain", "polkadot", "--json")
    call = json.loads(scenarioctl(*line).out)["call"]
    amount = call["args"].get("value")
    if amount is None:
        amount = call["args"]["assets"]["V5"][0]["fun"]["Fungible"]
    return int(amount["value"] if isinstance(amount, dict) else amount), call["method"]


@pytest.mark.parametrize(
    ("flags", "held", "stays", "method"),
    [
        ((), account(5 * DOT), DEPOSIT, "transfer_keep_alive"),
        (("--allow-death",), account(5 * DOT), 0, "transfer_allow_death"),
        ((), account(5 * DOT, frozen=3 * DOT), 3 * DOT, "transfer_keep_alive"),
        (("--allow-death",), account(5 * DOT, reserved=DOT), DEPOSIT, "transfer_allow_death"),
        ((), account(5 * DOT, reserved=2 * DOT, frozen=4 * DOT), 2 * DOT, "transfer_keep_alive"),
    ],
    ids=["alive", "closed", "frozen", "needed", "frozen and reserved"],
)
def test_all_but_the_fee_and_what_has_to_stay_is_sent(
    network: FakeNetwork,
    scenarioctl: Run,
    flags: tuple[str, ...],
    held: dict[str, Any],
    stays: int,
    method: str,
) -> None:
    network.chains["polkadot"].store("System", "Account", ALICE_KEY, value=held)

    ended = create(network, scenarioctl, *flags)

    assert ended.code == 0, ended.err
    assert drafted(network, scenarioctl, ended) == (5 * DOT - FEE - stays, method)
    assert ended.said == says("amount max", "DOT", "fees")


@pytest.mark.parametrize(("flag", "stays"), [("--keep-alive", DEPOSIT), ("--allow-death", 0)])
def test_between_chains_delivery_is_paid_too(
    network: FakeNetwork, scenarioctl: Run, flag: str, stays: int
) -> None:
    ended = create(network, scenarioctl, flag, to="assetHub")

    amount = 5 * DOT - FEE - DELIVERY - stays
    assert ended.code == 0, ended.err
    assert drafted(network, scenarioctl, ended) == (amount, "limited_teleport_assets")
    assert ended.err.splitlines()[1] == says("amount max", "DOT", "fees")


@pytest.mark.parametrize("free", [2**30, 2**32, 2**40, 2**40 + 2**33, 2**48])
@pytest.mark.parametrize("more", [-1, 0, 1, 3, 100_000_000, 100_000_007])
def test_a_fee_that_depends_on_the_length_leaves_as_little_as_it_can(
    network: FakeNetwork, scenarioctl: Run, free: int, more: int
) -> None:
    """An amount of more digits is longer, and costs more: it is the largest that fits with its own
    fee."""
    byte = 1_000_000
    relay = network.chains["polkadot"]
    lengths: dict[int, int] = {}

    def price(arguments: bytes) -> dict[str, Any]:
        lengths[len(arguments)] = FEE + byte * len(arguments)
        return info(lengths[len(arguments)])

    relay.api["TransactionPaymentApi_query_info"] = price
    # From here on, one more byte of the amount makes the transaction longer.
    relay.store("System", "Account", ALICE_KEY, value=account(free + FEE + 145 * byte + more))

    ended = create(network, scenarioctl, "--allow-death", "--accept-loss")

    assert ended.code == 0, ended.err
    amount, _ = drafted(network, scenarioctl, ended)
    left = free + FEE + 145 * byte + more - amount
    assert min(lengths.values()) <= left <= max(lengths.values())
    assert left in lengths.values() or len(lengths) > 1


@pytest.mark.parametrize(
    ("flag", "sent"), [("--keep-alive", 6_990_000), ("--allow-death", 7_000_000)]
)
def test_of_another_asset_all_is_sent_and_the_fee_is_not_taken_of_it(
    network: FakeNetwork, scenarioctl: Run, flag: str, sent: int
) -> None:
    hub = network.chains["assetHub"]
    hub.store("Assets", "Account", 1984, ALICE_KEY, value={**USDT, "balance": 7_000_000})
    hub.store("Assets", "Asset", 1984, value=DETAILS)
    line = (
        *("--from", "assetHub", "--to", "assetHub", "--assetid", "1984"),
        *("--destinationaddress", BOB),
    )

    ended = scenarioctl(
        *("--config", str(network.config), "xcm", "asset-transfer", *line),
        *("--amount", "max", "--sender", ALICE, flag),
    )

    line = (
        *("--config", str(network.config), "tx", "decode", ended.out.strip()),
        *("--chain", "assetHub", "--json"),
    )
    call = json.loads(scenarioctl(*line).out)["call"]
    assert int(call["args"]["amount"]["value"]) == sent
    assert call["method"] == ("transfer" if flag == "--allow-death" else "transfer_keep_alive")
    assert ended.err == says("amount", "= ", "USDt", "max")


@pytest.mark.parametrize(
    ("to", "flags", "taken"),
    [("polkadot", (), DEPOSIT), ("assetHub", (), DEPOSIT + DELIVERY)],
    ids=["alive", "between chains"],
)
def test_who_signs_for_an_account_pays_the_fee_in_its_place(
    network: FakeNetwork, scenarioctl: Run, to: str, flags: tuple[str, ...], taken: int
) -> None:
    vault = bytes([7] * 32)
    relay = network.chains["polkadot"]
    relay.store("System", "Account", vault, value=account(5 * DOT))
    proxy = {"delegate": ALICE_KEY, "proxy_type": "Any", "delay": 0}
    relay.store("Proxy", "Proxies", vault, value=[[proxy], 0])
    config = ("--config", str(network.config))
    assert (
        scenarioctl(*config, "address", "add", "vault", "--proxy-of", f"0x{vault.hex()}").code == 0
    )
    line = ("--from", "polkadot", "--to", to, "--asset", "DOT", "--to-address", BOB, *flags)

    ended = scenarioctl(
        *(*config, "--json", "tx", "transfer", *line, "--amount", "max"),
        *("--as", "vault", "--sender", ALICE),
    )

    answer = json.loads(ended.out)
    assert Decimal(answer["maximum"]) * DOT == 5 * DOT - taken
    assert says("amount max", "DOT", "the signer pays the fee") in ended.err.splitlines()


@pytest.mark.parametrize("flag", ["--keep-alive", "--allow-death"])
def test_a_fee_that_is_converted_is_told_as_what_is_kept_for_it(
    network: FakeNetwork, scenarioctl: Run, flag: str
) -> None:
    pay_in(network, 10, 7_000_000, quote={"Ok": 60_000_001})
    dex = network.chains["hydraDx"]
    dex.store("AssetRegistry", "Assets", 10, value=registered(10_000))
    dex.api["TransactionPaymentApi_query_info"] = info(HDX)
    dex.api["TransactionPaymentApi_query_weight_to_fee"] = 150 * HDX
    line = ("--from", "hydraDx", "--to", "hydraDx", "--assetid", "10", "--destinationaddress", BOB)

    ended = scenarioctl(
        *("--config", str(network.config), "xcm", "asset-transfer", *line),
        *("--amount", "max", "--sender", ALICE, flag),
    )

    assert ended.code == 0, ended.err
    # The fee of 0.4 USDT, and a tenth of it.
    note = next(line for line in ended.err.splitlines() if line.startswith("amount max"))
    assert note == says("amount max", "0.440002 USDT")


def refused_by_dry_run(network: FakeNetwork) -> None:
    error = {"Err": {"post_info": {"actual_weight": None, "pays_fee": "Yes"}, "error": "BadOrigin"}}
    network.chains["polkadot"].api["DryRunApi_dry_run_call"] = call_effects(result=error)


def without_delivery_fees(network: FakeNetwork) -> None:
    network.chains["polkadot"].api["XcmPaymentApi_query_delivery_fees"] = {"Err": "Unimplemented"}


def holding(free: int) -> Any:
    return lambda network: network.chains["polkadot"].store(
        "System", "Account", ALICE_KEY, value=account(free)
    )


@pytest.mark.parametrize(
    ("arrange", "line", "code", "sentence"),
    [
        (holding(DEPOSIT), (), 2, says("amount max", "DOT", "Polkadot")),
        (holding(DEPOSIT + FEE), (), 2, says("amount max", "0.016 DOT", "fees")),
        (holding(0), ("--allow-death",), 2, says("amount max", "DOT", "Polkadot")),
        (refused_by_dry_run, ("--to", "assetHub"), 6, says("Polkadot", "BadOrigin")),
        (without_delivery_fees, ("--to", "assetHub"), 5, says("amount max")),
        (holding(5 * DOT), ("--offline",), 5, says("amount max", "offline")),
        (holding(5 * DOT), ("--sender", ""), 2, says("sender")),
        (holding(5 * DOT), ("--asset", "{{ asset }}"), 2, says("amount")),
        (holding(5 * DOT), ("--destination-address", "{{ to }}"), 2, says("amount max")),
        (holding(5 * DOT), ("--to", "acala"), 2, says("amount max", "DOT", "Acala", "check")),
    ],
    ids=[
        *("only the deposit", "only the fee", "nothing", "refused", "unknown delivery", "offline"),
        *("no sender", "no asset", "no receiver", "only by a check"),
    ],
)
def test_what_cannot_be_known_or_sent_is_refused(
    network: FakeNetwork,
    scenarioctl: Run,
    arrange: Any,
    line: tuple[str, ...],
    code: int,
    sentence: Says,
) -> None:
    arrange(network)
    fields = {
        "--from": "polkadot",
        "--to": "polkadot",
        "--asset": "DOT",
        "--amount": "max",
        "--destination-address": BOB,
        "--sender": ALICE,
    }
    flags = [each for each in line if each in ("--offline", "--allow-death")]
    given = [each for each in line if each not in flags]
    fields |= dict(zip(given[::2], given[1::2], strict=True))
    words = [word for pair in fields.items() for word in pair]

    ended = scenarioctl("--config", str(network.config), "create", "scenario", *words, *flags)

    assert (ended.out, ended.code) == ("", code)
    assert ended.err == sentence.printed


@pytest.mark.parametrize("flag", ["--keep-alive"])
def test_between_chains_a_flag_that_would_do_nothing_is_refused(
    scenarioctl: Run, flag: str
) -> None:
    line = ("--from", "polkadot", "--to", "assetHub", "--asset", "DOT", "--amount", "1.5")

    ended = scenarioctl(
        "--offline", "create", "scenario", *line, "--destination-address", BOB, flag
    )

    assert (ended.out, ended.code) == ("", 2)
    assert ended.err == says("allow_death", "Polkadot", "Polkadot Asset Hub", "max").printed


def test_a_message_that_is_too_small_to_arrive_still_tells_what_delivery_takes(
    network: FakeNetwork, scenarioctl: Run
) -> None:
    """The first try sends half of it: what is asked of the chain there is only the price of
    delivery."""
    relay = network.chains["polkadot"]
    relay.api["DryRunApi_dry_run_call"] = call_effects((RELAY_TO_HUB, message(amount=1)))

    ended = create(network, scenarioctl, to="assetHub")

    assert drafted(network, scenarioctl, ended)[0] == 4 * DOT - FEE - DELIVERY


def test_of_two_amounts_of_which_each_calls_for_the_other_the_smaller_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """85 costs 10, which leaves 90; 90 costs 15, which leaves 85."""
    registry = Registry()
    relay = registry.find("polkadot")
    wanted = Transfer(
        source=relay,
        destination=relay,
        asset=Assets(registry).native(relay),
        amount=1,
        beneficiary=bytes(32),
        allow_death=True,
    )

    async def read(*_: Any) -> tuple[Any, str]:
        return SimpleNamespace(free=100, transferable=100, transferable_keep_alive=100), ""

    async def cost(tried: TransferBuilder, _: bytes, **_fee: bool) -> int:
        return 15 if 85 < tried.transfer.amount < 100 else 10

    monkeypatch.setattr(maximum_transfer, "_read_figures", read)
    monkeypatch.setattr(maximum_transfer, "_costs", cost)
    ask: Any = None
    builder = TransferBuilder(
        clients=ask, assets=Assets(registry), transfer=wanted, table=ask, known_destination=None
    )

    found = finish(maximum_transfer.find_maximum(builder, bytes(32)))

    assert found.amount == 85
