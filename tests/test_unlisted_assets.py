"""Assets that are named by their location alone, and what shows that an unknown id on the
destination is one of them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from scenarioctl.chains.assets import Asset, Assets
from scenarioctl.chains.locations import read_location
from scenarioctl.chains.registry import Chain, Registry
from scenarioctl.errors import InvalidRequest
from scenarioctl.runtime.table import RuntimeTable
from scenarioctl.transactions.blocks import Event
from scenarioctl.transactions.simulation import credits
from scenarioctl.transactions.simulation.arrival import ComputedArrival, compute_arrival
from scenarioctl.transactions.simulation.credits import recognize_credit
from scenarioctl.transactions.simulation.dry_run import DryRunResult, XcmMessage
from scenarioctl.transactions.simulation.reserves import check_trusted_reserve
from scenarioctl.transactions.simulation.runtime_api import Inconclusive
from scenarioctl.transactions.simulation.trial import Trial, read_ledger
from scenarioctl.transactions.transfer.build import build_transfer
from scenarioctl.transactions.transfer.request import Transfer
from scenarioctl.transactions.transfer.ways import UNLISTED, Route, find_sent_asset
from tests.check_rules import trial
from tests.messages import raises, says
from tests.runner import finish
from tests.runtimes import BOB, bundled

REGISTRY = Registry()
ASSETS = Assets(REGISTRY)
ALICE = bytes([1]) * 32
USDT = "1/Parachain(1000)/PalletInstance(50)/GeneralIndex(1984)"
SENT = 10**7


def transfer(source: str, destination: str, asset: object) -> Transfer:
    chain = REGISTRY.find(source)
    return Transfer(
        source=chain,
        destination=REGISTRY.find(destination),
        asset=find_sent_asset(ASSETS, chain, asset, field="assetid"),
        amount=SENT,
        beneficiary=BOB,
    )


# Named


def test_a_location_names_an_asset_that_is_not_listed() -> None:
    asset = find_sent_asset(ASSETS, REGISTRY.find("astar"), USDT, field="assetid")

    assert (asset.kind, asset.id, asset.location, asset.reserve) == (
        UNLISTED,
        USDT,
        USDT,
        "assetHub",
    )
    assert (asset.symbol, asset.decimals) == ("", None)
    arriving = ASSETS.counterpart(asset, REGISTRY.find("hydraDx"))
    assert arriving is not None
    assert arriving.id == "10"


@pytest.mark.parametrize("text", ["0/Here", "1/Parachain(2006)", "ASTR"])
def test_the_location_of_a_listed_asset_names_that_one(text: str) -> None:
    asset = find_sent_asset(ASSETS, REGISTRY.find("astar"), text, field="assetid")

    assert (asset.id, asset.kind) == ("ASTR", "native")


@pytest.mark.parametrize(
    ("chain", "text", "words"),
    [
        ("astar", "1/Nonsense(7)", "unknown junction"),
        ("astar", "USDT", "is not an asset of Astar"),
        # Of these chains, the ids of assets are known: one that isn't there is a slip.
        ("hydraDx", "1/Parachain(9999)", "is not an asset of Hydration"),
        ("polkadot", "1/Parachain(9999)", "is not an asset of Polkadot"),
    ],
)
def test_what_names_no_asset_is_refused(chain: str, text: str, words: str) -> None:
    with raises(InvalidRequest, says("assetid", words)):
        find_sent_asset(ASSETS, REGISTRY.find(chain), text, field="assetid")


def test_the_ids_of_a_parachain_may_be_large() -> None:
    """Those of Astar are; the exchange and the Asset Hub have ids of 32 bits."""
    row = {"id": str(2**128 - 1), "symbol": "USDT", "decimals": 6, "kind": "assets"}
    assets = Assets(Registry({"astar": {"assets": [{**row, "location": USDT}]}}))

    listed = find_sent_asset(assets, assets.registry.find("astar"), USDT, field="assetid")

    assert (listed.id, listed.symbol, listed.decimals) == (row["id"], "USDT", 6)
    nowhere = Assets(Registry({"astar": {"assets": [row]}}))
    assert nowhere.find(nowhere.registry.find("astar"), "USDT").location == ""
    with raises(InvalidRequest, says("chains.astar.assets.id", 2**128)):
        Assets(Registry({"astar": {"assets": [{**row, "id": str(2**128)}]}})).find(
            REGISTRY.find("astar"), "USDT"
        )


def test_no_call_within_a_chain_can_name_it() -> None:
    with raises(InvalidRequest, says("astar", USDT)):
        build_transfer(transfer("astar", "astar", USDT), bundled("assetHub"), assets=ASSETS)


# Recognized


def message(destination: str, *instructions: tuple[str, Any]) -> XcmMessage:
    return XcmMessage(
        origin=REGISTRY.find("assetHub"),
        destination=REGISTRY.find(destination),
        place="",
        location={},
        version=5,
        instructions=instructions,
        data=b"",
    )


def brings(*assets: tuple[str, int]) -> tuple[str, Any]:
    items = [{"id": read_location(text), "fun": {"Fungible": amount}} for text, amount in assets]
    return ("ReserveAssetDeposited", items)


_END: tuple[tuple[str, Any], ...] = (
    ("ClearOrigin", None),
    ("BuyExecution", {}),
    ("DepositAsset", {}),
    ("SetTopic", bytes(32)),
)


def event(pallet: str, name: str, **fields: Any) -> Event:
    return Event(pallet=pallet, name=name, fields=fields)


def issued(number: int, who: bytes = BOB, amount: int = SENT - 7) -> Event:
    return event("Assets", "Issued", asset_id=number, owner=who, amount=amount)


def last_hop(destination: str, *events: Event, sent: Any = None) -> DryRunResult:
    incoming = message(destination, *(sent or (brings((USDT, SENT)), *_END)))
    return DryRunResult(chain=REGISTRY.find(destination), message=incoming, events=events)


NUMBER = 4294969280


def test_the_one_credit_is_what_the_message_brings() -> None:
    asset = recognize_credit(
        [last_hop("astar", issued(NUMBER), issued(NUMBER, ALICE, 7))],
        transfer("hydraDx", "astar", 10),
        ASSETS,
    )

    assert asset is not None
    assert (asset.chain, asset.kind, asset.id, asset.location) == (
        "astar",
        "assets",
        str(NUMBER),
        USDT,
    )
    assert (asset.symbol, asset.decimals) == ("USDT", 6)


def test_an_id_may_be_of_any_type() -> None:
    """Bifrost's are variants, and Currencies repeats what Tokens says."""
    label = {"Token2": 2}
    events = [
        event(pallet, "Deposited", currency_id=label, who=BOB, amount=5)
        for pallet in ("Tokens", "Currencies")
    ]

    asset = recognize_credit(
        [last_hop("bifrost", *events)], transfer("hydraDx", "bifrost", 10), ASSETS
    )

    assert asset is not None
    assert (asset.kind, asset.id) == ("tokens", "{'Token2': 2}")


TWO = (brings((USDT, SENT), ("1/Here", 1)), *_END)
OTHER = (brings(("1/Here", SENT)), *_END)
TRADES: tuple[tuple[str, Any], ...] = (brings((USDT, SENT)), ("ExchangeAsset", {}), *_END)
TWICE = (brings((USDT, SENT)), brings((USDT, SENT)), *_END)


@pytest.mark.parametrize(
    "hop",
    [
        pytest.param(last_hop("astar"), id="nothing"),
        pytest.param(last_hop("astar", issued(NUMBER, ALICE)), id="somebody else's"),
        pytest.param(last_hop("astar", issued(NUMBER), issued(NUMBER + 1)), id="two assets"),
        pytest.param(
            last_hop("astar", event("Balances", "Minted", who=BOB, amount=5)), id="the native asset"
        ),
        pytest.param(last_hop("astar", issued(NUMBER), sent=TWO), id="a message that brings two"),
        pytest.param(
            last_hop("astar", issued(NUMBER), sent=TWICE), id="a message that brings it twice"
        ),
        pytest.param(last_hop("astar", issued(NUMBER), sent=TRADES), id="a message that does more"),
        pytest.param(replace(last_hop("astar", issued(NUMBER)), failure="no"), id="a failure"),
        pytest.param(last_hop("unique", issued(NUMBER)), id="another chain"),
    ],
)
def test_what_is_not_certain_is_not_recognized(hop: DryRunResult) -> None:
    assert recognize_credit([hop], transfer("hydraDx", "astar", 10), ASSETS) is None


def listed_on_astar(symbol: str, decimals: int) -> Assets:
    """Return assets of which `NUMBER` on Astar is listed without its location."""
    row = {"id": str(NUMBER), "symbol": symbol, "decimals": decimals, "kind": "assets"}
    return Assets(Registry({"astar": {"assets": [row]}}))


@pytest.mark.parametrize(
    ("symbol", "decimals", "recognized"),
    [("USDT", 6, True), ("USDt", 6, True), ("USDT", 18, False), ("ETH", 6, False), ("", 6, False)],
)
def test_an_asset_listed_without_location_has_to_be_like_the_one_that_is_sent(
    symbol: str, decimals: int, recognized: bool
) -> None:
    assets = listed_on_astar(symbol, decimals)

    asset = recognize_credit(
        [last_hop("astar", issued(NUMBER))], transfer("hydraDx", "astar", 10), assets
    )

    assert (asset is not None) == recognized
    if asset is not None:
        assert (asset.id, asset.symbol, asset.decimals, asset.location) == (
            str(NUMBER),
            symbol,
            6,
            USDT,
        )


def test_an_asset_that_is_listed_is_known_by_its_id() -> None:
    wanted = transfer("astar", "hydraDx", USDT)
    credit = event("Tokens", "Deposited", currency_id=999, who=BOB, amount=5)

    assert recognize_credit([last_hop("hydraDx", credit)], wanted, ASSETS) is None


def transfer_trial(hops: list[DryRunResult], recognized: Asset | None) -> Trial:
    """Return a trial of *hops*, of which no fees are asked."""
    tried = trial("hydraDx", sender=ALICE, hops=hops, recognized=recognized)
    for hop in hops:
        ledger = finish(read_ledger(tried, replace(hop, message=None, sent=())))
        tried.ledgers.append(replace(ledger, hop=hop))
    return tried


@pytest.mark.parametrize(
    ("computed", "verdict"),
    [(SENT - 7, "ok"), (SENT - 8, "unknown"), (SENT - 6, "unknown"), (None, "unknown")],
)
def test_only_the_computed_amount_proves_it(
    monkeypatch: pytest.MonkeyPatch, computed: int | None, verdict: str
) -> None:
    wanted = transfer("hydraDx", "astar", 10)
    hops = [
        DryRunResult(
            chain=wanted.source,
            sent=(message("assetHub", brings(("0/PalletInstance(50)/GeneralIndex(1984)", SENT))),),
        ),
        last_hop("astar", issued(NUMBER)),
    ]
    tried = transfer_trial(hops, recognize_credit(hops, wanted, ASSETS))

    async def compute(*_: Any) -> ComputedArrival:
        if computed is None:
            raise Inconclusive("no price")
        return ComputedArrival(fees=(), assets={USDT.removeprefix("1/"): computed})

    monkeypatch.setattr(credits, "compute_arrival", compute)
    finish(credits.check_transfer(tried, wanted))

    assert tried.findings.verdict == verdict
    if verdict == "unknown":
        assert "; ".join(tried.findings.reasons) == says("Astar", "USDT", "last unit")


def test_a_credit_that_is_not_recognized_proves_nothing() -> None:
    wanted = transfer("hydraDx", "astar", 10)
    hops = [
        DryRunResult(chain=wanted.source),
        last_hop("astar", issued(NUMBER), issued(NUMBER + 1)),
    ]
    tried = transfer_trial(hops, None)

    finish(credits.check_transfer(tried, wanted))

    assert tried.findings.verdict == "unknown"
    assert "; ".join(tried.findings.reasons) == says("astar", "USDT")


# Asked for


class Trusting:
    """A parachain that is asked from where it takes an asset; None: it has no such API."""

    def __init__(self, chain: Chain, answer: bool | None) -> None:
        self.chain = chain
        self.answer = answer
        self.asked: list[Any] = []

    async def table(self) -> RuntimeTable:
        # Relay chains have no such API.
        return bundled("polkadot" if self.answer is None else "assetHub")

    async def raw_runtime_call(self, name: str, *arguments: object) -> Mapping[str, bool]:
        assert name == "TrustedQueryApi_is_trusted_reserve"
        assert self.answer is not None
        return {"Ok": self.answer}


@pytest.mark.parametrize(
    ("source", "first", "answer", "refused"),
    [
        ("unique", "DestinationReserve", False, True),
        ("unique", "DestinationReserve", True, False),
        ("unique", "DestinationReserve", None, False),
        ("unique", "LocalReserve", False, False),
        # Its facts say all of it.
        ("astar", "DestinationReserve", False, False),
    ],
)
def test_a_source_that_takes_the_asset_from_another_reserve_is_refused(
    source: str, first: Any, answer: bool | None, refused: bool
) -> None:
    wanted = transfer(source, "assetHub", "1/Here")
    asking = check_trusted_reserve(
        lambda chain: Trusting(chain, answer),  # type: ignore[arg-type, return-value]
        wanted,
        Route(first=first),
    )
    if not refused:
        finish(asking)
        return
    with raises(InvalidRequest, says("Unique Network", "Polkadot Asset Hub", "TrustedQueryApi")):
        finish(asking)


# Delivered


class Hub:
    """An Asset Hub that takes 100 for execution and 3 of its own asset for delivery, and parachains
    that take 7."""

    def __init__(self, chain: Chain, price: int | None) -> None:
        self.chain = chain
        self.price = price

    async def table(self) -> RuntimeTable:
        return bundled("assetHub")

    async def raw_runtime_call(self, name: str, *arguments: object) -> object:
        hub = self.chain.role == "asset_hub"
        native = {"id": {"parents": 1, "interior": "Here"}, "fun": {"Fungible": 3}}
        answers: Mapping[str, object] = {
            "XcmPaymentApi_query_xcm_weight": {"Ok": {"ref_time": 1, "proof_size": 1}},
            "XcmPaymentApi_query_weight_to_asset_fee": {"Ok": 100 if hub else 7},
            "XcmPaymentApi_query_delivery_fees": {"Ok": {"V5": [native]}},
            "AssetConversionApi_quote_price_tokens_for_exact_tokens": self.price,
        }
        return answers[name]


def over_hub(left: int) -> list[DryRunResult]:
    """Return the hops of USDT from Hydration over the Asset Hub, of which the Asset Hub sends
    *left* on."""
    here = "0/PalletInstance(50)/GeneralIndex(1984)"
    buys = [
        (
            "BuyExecution",
            {
                "fees": {"id": read_location(place), "fun": {"Fungible": 1}},
                "weight_limit": "Unlimited",
            },
        )
        for place in (here, USDT)
    ]
    withdraws = ("WithdrawAsset", brings((here, SENT))[1])
    first = replace(
        message("assetHub", withdraws, buys[0]), origin=REGISTRY.find("hydraDx"), data=b"1"
    )
    last = replace(
        message("astar", brings((USDT, left)), buys[1]),
        location={"V5": read_location("1/Parachain(2006)")},
    )
    return [
        DryRunResult(chain=REGISTRY.find("hydraDx"), sent=(first,)),
        DryRunResult(chain=REGISTRY.find("assetHub"), message=first, sent=(last,)),
        DryRunResult(chain=REGISTRY.find("astar"), message=last),
    ]


async def arrival_over_hub(left: int, price: int | None) -> ComputedArrival:
    tried = trial("hydraDx", clients=lambda chain: Hub(chain, price))
    ledgers = [await read_ledger(tried, hop) for hop in over_hub(left)]
    return await compute_arrival(tried.clients, ledgers)


@pytest.mark.parametrize(
    ("taken", "counted"),
    [
        # The pool's price moved a little since it was asked for.
        (1009, 1009),
        # More is missing than the price explains.
        (1011, 1000),
    ],
)
def test_what_is_exchanged_for_delivery_is_taken_from_what_arrives(
    taken: int, counted: int
) -> None:
    arrival = finish(arrival_over_hub(SENT - 100 - taken, 1000))

    assert arrival.assets == {USDT.removeprefix("1/"): SENT - 100 - counted - 7}
    assert [(fee.chain.name, fee.what, fee.amount) for fee in arrival.fees] == [
        ("assetHub", "execution", 100),
        ("assetHub", "delivery", counted),
        ("astar", "execution", 7),
    ]


def test_without_a_pool_the_arrival_is_not_known() -> None:
    with raises(Inconclusive, says("Polkadot Asset Hub", "no pool")):
        finish(arrival_over_hub(SENT, None))
