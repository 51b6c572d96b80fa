"""`tx check` of bytes that go to a chain of which nothing is written: by its para id, whatever node
was asked."""

import json
from typing import Any

import pytest

from scenarioctl.chains.registry import Registry
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.runtime.table_cache import save_cached
from scenarioctl.transactions import connected_transfer
from tests.conftest import BOB, Run
from tests.messages import says
from tests.network import FakeNetwork
from tests.test_check import (
    ALICE,
    ALICE_KEY,
    AMOUNT,
    ARRIVING,
    BOB_KEY,
    DEX_TO_HUB,
    Check,
    account,
    call_effects,
    fill,
    info,
    message,
    message_effects,
    minted,
)
from tests.test_parachains import BLOCK, HEAD, PARACHAIN

PARA_ID = 2222
THERE = {"parents": 1, "interior": {"X1": [{"Parachain": PARA_ID}]}}


@pytest.fixture
def network(network: FakeNetwork) -> FakeNetwork:
    """A relay chain, its Asset Hub, whose calls send DOT to a parachain of config.toml, and that
    parachain."""
    fill(network)
    relay, hub, own = (network.chains[name] for name in ("polkadot", "assetHub", "hydraDx"))
    hub.api.update(
        DryRunApi_dry_run_call=call_effects((THERE, message("ReserveAssetDeposited"))),
        TransactionPaymentApi_query_info=info(10**7),
        XcmPaymentApi_query_delivery_fees={"Ok": {"V5": []}},
    )
    hub.store("System", "Account", ALICE_KEY, value=account(10**12))
    own.api.update(
        DryRunApi_dry_run_xcm=message_effects(
            {"Tokens": {"Deposited": {"currency_id": 5, "who": BOB_KEY, "amount": ARRIVING}}}
        ),
        XcmPaymentApi_query_xcm_weight={"Ok": {"ref_time": 600, "proof_size": 8000}},
        XcmPaymentApi_query_weight_to_asset_fee={"Ok": AMOUNT - ARRIVING},
    )
    own.store("ParachainInfo", "ParachainId", value=PARA_ID)
    relay.store("Paras", "Heads", PARA_ID, value=HEAD)
    genesis = Registry().find("hydraDx").genesis
    own.node.answers["chain_getBlockHash"] = lambda *number: {(0,): genesis, (5,): BLOCK}.get(
        number, HASH
    )
    save_cached(own.table, genesis, network.config.parent / "cache" / "runtimes" / "own")
    configure(network)
    return network


HASH = "0x" + "11" * 32


def configure(network: FakeNetwork, **changes: Any) -> None:
    """Let hydraDx be the parachain, with *changes* of what config.toml says of it."""
    nodes = {name: {"endpoints": [chain.node.url]} for name, chain in network.chains.items()}
    genesis = Registry().find("hydraDx").genesis
    own = {**PARACHAIN, "genesis": genesis, **nodes.pop("hydraDx"), **changes}
    network.write({**nodes, "own": own})


@pytest.fixture
def check(network: FakeNetwork, scenarioctl: Run) -> Check:
    """Run `tx check --json` of a call of the Asset Hub or of the parachain, and return the
    answer."""

    def run(call: Call, chain: str = "assetHub") -> dict[str, Any]:
        data = network.chains["hydraDx" if chain == "own" else chain].table.encode_call(call)
        ended = scenarioctl(
            *("--json", "--config", str(network.config), "tx", "check", "0x" + data.hex()),
            *("--chain", chain, "--sender", ALICE),
        )
        answer: dict[str, Any] = json.loads(ended.out)
        return answer

    return run


REMARK = Call(pallet="System", method="remark", args={"remark": b"any call"})
BATCH = Call(
    pallet="Utility",
    method="batch_all",
    args={
        "calls": [
            {"System": {"remark": {"remark": b"one"}}},
            {"System": {"remark": {"remark": b"two"}}},
        ]
    },
)


@pytest.mark.parametrize("call", [REMARK, BATCH], ids=["call", "batch"])
def test_a_message_that_would_go_to_another_chain_is_refused(
    network: FakeNetwork, check: Check, call: Call
) -> None:
    network.chains["hydraDx"].store("ParachainInfo", "ParachainId", value=2034)

    answer = check(call)

    assert answer["verdict"] == "refused"
    assert answer["reasons"] == [says("chains.own.para_id", PARA_ID, 2034)]


def test_the_chain_that_messages_come_from_is_asked_too(network: FakeNetwork, check: Check) -> None:
    own, hub = network.chains["hydraDx"], network.chains["assetHub"]
    own.api["DryRunApi_dry_run_call"] = call_effects((DEX_TO_HUB, message("WithdrawAsset")))
    hub.api["DryRunApi_dry_run_xcm"] = message_effects(minted())
    own.store("ParachainInfo", "ParachainId", value=2034)

    answer = check(REMARK, "own")

    assert answer["verdict"] == "refused"
    assert answer["reasons"] == [says("chains.own.para_id", PARA_ID, 2034)]


def test_what_the_relay_chain_does_not_tell_is_unknown(network: FakeNetwork, check: Check) -> None:
    network.chains["polkadot"].store("Paras", "Heads", PARA_ID, value=b"short")

    answer = check(REMARK)

    assert answer["verdict"] == "unknown"
    assert answer["reasons"] == [
        says("own", f"parachain {PARA_ID}", "Polkadot", "could not be found")
    ]


def test_without_a_genesis_any_node_could_answer(network: FakeNetwork, check: Check) -> None:
    configure(network, genesis="")

    answer = check(REMARK)

    assert answer["verdict"] == "unknown"
    assert answer["reasons"][0] == says("no genesis", "[chains.own]")


def test_a_chain_that_cannot_be_reached_is_named_once(network: FakeNetwork, check: Check) -> None:
    configure(network, endpoints=["ws://127.0.0.1:1/"])

    answer = check(REMARK)

    assert answer["verdict"] == "unknown"
    assert [reason.split(" (")[0] for reason in answer["reasons"]] == ["own cannot be reached"]


TREASURY = b"modlpy/trsry".ljust(32, b"\0")


def credited(who: bytes, amount: int) -> dict[str, Any]:
    return {"Tokens": {"Deposited": {"currency_id": 5, "who": who, "amount": amount}}}


@pytest.mark.parametrize(
    ("fee", "lost"),
    [(0, False), (AMOUNT - ARRIVING, False), (AMOUNT, True)],
    ids=["a fee for nobody", "a fee for the treasury", "more than comes"],
)
def test_what_may_be_credited_by_an_unknown_id_is_not_called_lost(
    network: FakeNetwork, check: Check, fee: int, lost: bool
) -> None:
    """What a check of the transfer recognizes by its amount."""
    configure(network, assets=[])
    effects = message_effects(
        credited(BOB_KEY, ARRIVING), *([credited(TREASURY, fee)] if fee else [])
    )
    network.chains["hydraDx"].api["DryRunApi_dry_run_xcm"] = effects

    answer = check(REMARK)

    assert answer["verdict"] == "unknown"
    assert answer["reasons"][0] == says("unlisted", "own")
    assert any("lost" in reason for reason in answer["reasons"]) == lost


def test_what_leaves_under_an_unknown_id_goes_on_by_its_location(
    network: FakeNetwork, check: Check
) -> None:
    configure(network, assets=[])
    own, hub = network.chains["hydraDx"], network.chains["assetHub"]
    hub.api["DryRunApi_dry_run_xcm"] = message_effects(minted())
    own.api.update(
        TransactionPaymentApi_query_info=info(0),
        XcmPaymentApi_query_delivery_fees={"Ok": {"V5": []}},
    )

    def leaving(amount: int) -> list[str]:
        event = {"Tokens": {"Withdrawn": {"currency_id": 5, "who": ALICE_KEY, "amount": amount}}}
        message_sent = (DEX_TO_HUB, message("WithdrawAsset"))
        own.api["DryRunApi_dry_run_call"] = call_effects(message_sent, events=(event,))
        return [reason for reason in check(REMARK, "own")["reasons"] if "lost" in reason]

    assert leaving(AMOUNT) == []
    assert leaving(AMOUNT + 1) == [says("own", "leaves accounts", "lost")]


def test_what_nobody_is_credited_with_is_not_ok_by_whatever_id(
    network: FakeNetwork, check: Check
) -> None:
    configure(network, assets=[])
    network.chains["hydraDx"].api["DryRunApi_dry_run_xcm"] = message_effects()

    answer = check(REMARK)

    assert answer["verdict"] == "unknown"
    assert says("1/Here", "own", "lost") in answer["reasons"]


def transfer(network: FakeNetwork, scenarioctl: Run, source: str, destination: str) -> str:
    """Return what `tx check` of a transfer of DOT that only a check opens says."""
    words = ("--from", source, "--to", destination, "--assetid", "DOT", "--amount", f"{AMOUNT}raw")
    ended = scenarioctl(
        *("--json", "--config", str(network.config), "tx", "check", *words),
        *("--destinationaddress", BOB, "--sender", ALICE),
    )
    answer = json.loads(ended.out)
    return str(answer.get("error") or answer["verdict"])


@pytest.mark.parametrize("known", [PARA_ID, 2034])
def test_a_transfer_is_tried_only_to_the_chain_that_it_names(
    network: FakeNetwork, scenarioctl: Run, known: int
) -> None:
    network.chains["hydraDx"].store("ParachainInfo", "ParachainId", value=known)

    said = transfer(network, scenarioctl, "assetHub", "own")

    assert said == ("ok" if known == PARA_ID else says("chains.own.para_id", PARA_ID, 2034))


def test_no_transfer_is_tried_before_its_reserve_is_asked_for(
    network: FakeNetwork, scenarioctl: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No bundled runtime of a parachain says which reserves it takes; `test_unlisted_assets.py`
    tests the question."""

    async def refuse(*_: Any) -> None:
        raise InvalidRequest("another reserve")

    monkeypatch.setattr(connected_transfer, "check_trusted_reserve", refuse)

    assert transfer(network, scenarioctl, "assetHub", "own") == "another reserve"
