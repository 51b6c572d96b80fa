"""Transfers of chains of whose trust nothing is written: only a check may open them, and over the
backing chain alone."""

from dataclasses import replace
from hashlib import blake2b
from typing import Any

import pytest

from scenarioctl.chains.assets import Assets
from scenarioctl.chains.registry import Chain, Registry
from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest
from scenarioctl.runtime.metadata import read_metadata
from scenarioctl.runtime.table import RuntimeTable
from scenarioctl.transactions.connected_transfer import TransferBuilder
from scenarioctl.transactions.simulation.reserves import check_para_ids
from scenarioctl.transactions.simulation.runtime_api import Inconclusive
from scenarioctl.transactions.transfer.plan import Plan, build_candidate, make_plan
from scenarioctl.transactions.transfer.request import BY_CHECK, Transfer
from scenarioctl.transactions.transfer.routes import candidate_routes, find_route
from scenarioctl.transactions.transfer.ways import find_sent_asset
from tests.conftest import DATA
from tests.messages import says
from tests.runner import finish
from tests.runtimes import BOB, bundled

OWN: dict[str, Any] = {"id": 0, "symbol": "OWN", "decimals": 12, "location": "0/Here"}
#: A parachain that says of its assets where they live; the Asset Hub lists the parachain's own.
PARACHAIN: dict[str, Any] = {
    "role": "parachain",
    "relay": "polkadot",
    "para_id": 2222,
    "symbol": "OWN",
    "decimals": 12,
    "genesis": "0x" + "22" * 32,
    "assets": [
        {"id": 5, "symbol": "DOT", "decimals": 10, "kind": "tokens", "location": "1/Here"},
        {
            "id": 10,
            "symbol": "USDT",
            "decimals": 6,
            "kind": "tokens",
            "location": "1/Parachain(1000)/PalletInstance(50)/GeneralIndex(1984)",
        },
        {
            "id": 7,
            "symbol": "HDX",
            "decimals": 12,
            "kind": "tokens",
            "location": "1/Parachain(2034)/GeneralIndex(0)",
        },
        {**OWN, "id": "OWN"},
    ],
}
HUB = {
    "assets": [
        {**OWN, "id": "1/Parachain(2222)", "kind": "foreign", "location": "1/Parachain(2222)"}
    ]
}


OTHER = {**PARACHAIN, "para_id": 2223, "symbol": "OTH", "genesis": "0x" + "23" * 32, "assets": []}


BNC = "1/Parachain(2030)/GeneralKey(0x0001)"


def registry(**changes: Any) -> Registry:
    return Registry({"own": PARACHAIN | changes, "other": OTHER, "assetHub": HUB})


def transfer(source: str, destination: str, asset: object, known: Registry) -> Transfer:
    chain = known.find(source)
    return Transfer(
        source=chain,
        destination=known.find(destination),
        asset=find_sent_asset(Assets(known), chain, asset, field="assetid"),
        amount=10**12,
        beneficiary=BOB[: known.find(destination).account_format.length],
    )


def refusal_of(wanted: Transfer, known: Registry, *ways: str) -> str:
    """Return why *wanted* is refused without a check; with one, *ways* are tried."""
    assets = Assets(known)
    assert tuple(route.way for route in candidate_routes(wanted, assets)) == ways
    with pytest.raises(InvalidRequest) as refused:
        find_route(wanted, assets, fee_settled=True)
    return str(refused.value)


@pytest.mark.parametrize(
    ("source", "destination", "asset", "ways"),
    [
        ("assetHub", "own", "DOT", ("LocalReserve",)),
        ("assetHub", "own", "1/Parachain(2222)", ("Teleport", "DestinationReserve")),
        # The Asset Hub takes it from no parachain but its own.
        ("own", "assetHub", 7, ()),
        # The relay chain backs nothing, and what the Asset Hub backs goes over it.
        ("polkadot", "own", "DOT", ("Teleport, assetHub, LocalReserve",)),
        ("own", "polkadot", "DOT", ("DestinationReserve, assetHub, Teleport",)),
        ("own", "hydraDx", "DOT", ("DestinationReserve, assetHub, LocalReserve",)),
        ("own", "bifrost", 10, ("DestinationReserve, assetHub, LocalReserve",)),
        ("own", "hydraDx", 7, ("DestinationReserve",)),
        ("own", "other", "OWN", ("LocalReserve",)),
        ("own", "other", 7, ("DestinationReserve, hydraDx, LocalReserve",)),
        # Facts that say all of it say no: Mythos takes its own asset alone, Astar none from beyond
        # a bridge.
        ("own", "mythos", "DOT", ()),
        ("own", "astar", "2/GlobalConsensus(Ethereum:1)", ()),
    ],
)
def test_a_check_tries_the_chain_that_backs_the_asset(
    source: str, destination: str, asset: object, ways: tuple[str, ...]
) -> None:
    known = registry()

    refused = refusal_of(transfer(source, destination, asset, known), known, *ways)

    unknown = "own accepts from other chains are not known"
    over = ways[0].split(", ")[1] if ways and "," in ways[0] else ""
    assert refused == says(
        unknown if ways else "cannot be sent from own", "goes there only over" if over else "", over
    )
    assert (BY_CHECK in refused) == bool(ways)


@pytest.mark.parametrize("role", ["parachain", "contracts"])
def test_without_a_genesis_any_node_could_answer_for_it(role: str) -> None:
    known = registry(role=role, genesis="")
    wanted = transfer("assetHub", "own", "DOT", known)

    assert candidate_routes(wanted, Assets(known)) == ()
    with pytest.raises(InvalidRequest) as refused:
        find_route(wanted, Assets(known), fee_settled=True)
    assert ("genesis in [chains.own]" in str(refused.value)) == (role == "parachain")


@pytest.mark.parametrize(
    ("declared", "accepts"),
    [
        ({"para_id": 2034}, True),
        ({"para_id": 2222, "spec_name": "hydradx"}, True),
        ({"para_id": 2034, "relay": "kusama"}, False),
        ({"para_id": 2222}, False),
        ({"para_id": 2222, "spec_name": "basilisk"}, False),
    ],
)
def test_an_exchange_accepts_what_hydration_accepts_only_if_it_is_hydration(
    declared: dict[str, Any], accepts: bool
) -> None:
    relay = declared.get("relay", "polkadot")
    # HDX is its own, and native assets of exchanges have another id.
    exchange = PARACHAIN | {"role": "dex", "assets": PARACHAIN["assets"][:2]}
    known = Registry({"own": exchange | declared})
    hub = known.asset_hub(known.find("own"))
    assert hub is not None
    wanted = transfer(hub.name, "own", "DOT" if relay == "polkadot" else "KSM", known)

    if accepts:
        assert find_route(wanted, Assets(known), fee_settled=True).first == "LocalReserve"
        return
    # Its runtime is asked, like that of any parachain.
    refused = refusal_of(wanted, known, "LocalReserve")
    assert refused == says("the assets that own accepts from other chains are not known", "dex")


@pytest.mark.parametrize(
    ("source", "destination", "asset", "ways"),
    [
        ("assetHub", "unique", "DOT", ("LocalReserve",)),
        ("bifrost", "assetHub", "BNC", ("Teleport", "LocalReserve")),
        ("people", "unique", "DOT", ("Teleport, assetHub, LocalReserve",)),
        ("assetHub", "bifrost", "2/GlobalConsensus(Kusama)", ("LocalReserve",)),
        ("assetHub", "energyWebX", 1984, ("LocalReserve",)),
        # The third reserve: of Asset Hub's ways to it, one is accepted.
        (
            *("assetHub", "hydraDx", BNC),
            ("Teleport, bifrost, LocalReserve", "DestinationReserve, bifrost, LocalReserve"),
        ),
    ],
)
def test_what_facts_leave_out_is_asked_for(
    source: str, destination: str, asset: object, ways: tuple[str, ...]
) -> None:
    """Of Unique an old source was read, of Bifrost not all, and of Energy Web X none."""
    known = registry()

    refused = refusal_of(transfer(source, destination, asset, known), known, *ways)

    assert "does not accept" not in refused
    assert refused == says(source, destination, "known")


@pytest.mark.parametrize(
    ("source", "destination", "asset", "words"),
    [
        ("acala", "bifrost", "1/Parachain(9999)", "the parachain 9999, is not in the registry"),
        ("astar", "assetHub", "ASTR", "does not accept Astar as its reserve"),
        ("assetHub", "mythos", "DOT", "Mythos holds only MYTH"),
        (
            "assetHub",
            "astar",
            "2/GlobalConsensus(Ethereum:1)",
            "does not accept Polkadot Asset Hub as its reserve",
        ),
    ],
)
def test_what_facts_deny_is_not_asked_for(
    source: str, destination: str, asset: object, words: str
) -> None:
    known = registry()

    assert refusal_of(transfer(source, destination, asset, known), known) == says(
        source, destination, words
    )


@pytest.mark.parametrize(("source", "asset"), [("assetHub", "1/Parachain(2222)"), ("own", "OWN")])
@pytest.mark.parametrize("answer", [True, False, None])
def test_the_asset_hub_tells_how_it_takes_the_own_asset_of_a_parachain(
    source: str, asset: object, answer: bool | None
) -> None:
    """Of a parachain that accepts a teleport and a reserve transfer, a dry run takes both."""
    known = registry()
    destination = "own" if source == "assetHub" else "assetHub"
    wanted = transfer(source, destination, asset, known)
    builder = builder_of(wanted, known, answer)
    plans = candidate_plans(builder)
    assert len(plans) == 2
    if answer is None:
        with pytest.raises(ChainUnreachable) as unknown:
            finish(builder.accepted_plans(plans))
        assert str(unknown.value) == says("Polkadot Asset Hub", "own", "teleport")
        return

    (plan,) = finish(builder.accepted_plans(plans))

    assert (build_candidate(plan).args["assets_transfer_type"] == "Teleport") == answer


@pytest.mark.parametrize(
    ("source", "destination", "asset"), [("assetHub", "hydraDx", BNC), ("hydraDx", "assetHub", 14)]
)
@pytest.mark.parametrize("answer", [True, False])
def test_the_asset_hub_tells_how_it_takes_the_asset_of_a_parachain_on_the_way(
    source: str, destination: str, asset: object, answer: bool
) -> None:
    """BNC goes over Bifrost, which backs it, in one signature."""
    known = Registry()
    wanted = replace(transfer(source, destination, asset, known), xcm_version=4)
    builder = builder_of(wanted, known, answer)

    (plan,) = finish(builder.accepted_plans(candidate_plans(builder)))

    call = build_candidate(replace(plan, last_hop_fee=10**9))
    dest = {"V4": {"parents": 1, "interior": {"X1": [{"Parachain": 2030}]}}}
    at_hub = plan.route.first if source == "assetHub" else plan.route.onward
    assert (at_hub == "Teleport") == answer
    assert plan.route.via == known.find("bifrost")
    if source == "assetHub" and answer:
        (send,) = call.args["custom_xcm_on_dest"]["V4"]
        assert (call.args["dest"], call.args["assets_transfer_type"]) == (dest, "Teleport")
        assert list(send) == ["DepositReserveAsset"]
    elif answer:
        (send,) = call.args["custom_xcm_on_dest"]["V4"]
        assert (call.args["dest"], call.args["assets_transfer_type"]) == (
            dest,
            "DestinationReserve",
        )
        assert list(send) == ["InitiateTeleport"]


@pytest.mark.parametrize(
    ("source", "asset"), [("assetHub", "1/Parachain(3369)"), ("mythos", "MYTH")]
)
@pytest.mark.parametrize("answer", [True, False])
def test_the_asset_hub_tells_whether_an_asset_can_be_teleported(
    source: str, asset: object, answer: bool
) -> None:
    """By the facts, Mythos takes its asset by teleport alone; the Asset Hub decides."""
    known = Registry()
    destination = "mythos" if source == "assetHub" else "assetHub"
    receiver = bytes(range(known.find(destination).account_format.length))
    wanted = replace(transfer(source, destination, asset, known), beneficiary=receiver)
    builder = builder_of(wanted, known, answer)
    with pytest.raises(InvalidRequest) as closed:
        find_route(wanted, Assets(known), fee_settled=True)
    assert str(closed.value) == says(
        "MYTH", "Polkadot Asset Hub", "ForeignAssets.Reserves", BY_CHECK
    )
    plans = candidate_plans(builder)
    assert [build_candidate(plan).args["assets_transfer_type"] for plan in plans] == ["Teleport"]

    if answer:
        assert finish(builder.accepted_plans(plans)) == plans
        return
    with pytest.raises(InvalidRequest) as refused:
        finish(builder.accepted_plans(plans))
    assert str(refused.value) == says("MYTH", "Polkadot Asset Hub", "Mythos", "by no teleport now")


@pytest.mark.parametrize(("answers", "version"), [(True, "V4"), (False, "V5")])
def test_a_call_to_try_has_the_version_that_the_destination_knows_now(
    answers: bool, version: str
) -> None:
    """What is known of it without asking may be another runtime; the check says if it can't be
    asked."""
    known = registry()
    wanted = transfer("assetHub", "own", "DOT", known)
    older = read_metadata((DATA / "metadata" / "polkadot-1002005.v14.scale").read_bytes())

    class Destination:
        async def table(self) -> RuntimeTable:
            if not answers:
                raise ChainUnreachable("it went away")
            return older

    builder = replace(
        builder_of(wanted, known, True),
        clients=lambda _: Destination(),  # type: ignore[arg-type, return-value]
        known_destination=bundled("assetHub"),
    )

    (plan,) = finish(builder.pricing(BOB).price_ways(candidate_routes(wanted, Assets(known))))

    assert list(build_candidate(plan).args["dest"]) == [version]


def candidate_plans(builder: TransferBuilder) -> list[Plan]:
    routes = candidate_routes(builder.transfer, builder.assets)
    return [make_plan(builder.transfer, route, builder.table) for route in routes]


def builder_of(wanted: Transfer, known: Registry, answer: bool | None) -> TransferBuilder:
    """Return the builder of a transfer over an Asset Hub with this *answer*."""
    return TransferBuilder(
        clients=lambda chain: Asked(chain, answer),  # type: ignore[arg-type, return-value]
        assets=Assets(known),
        transfer=wanted,
        table=bundled("assetHub"),
        known_destination=None,
    )


class Asked:
    """The Asset Hub, which is asked whether it takes the asset by teleport; None: it has no such
    API."""

    def __init__(self, chain: Chain, answer: bool | None) -> None:
        assert chain.name == "assetHub"
        self.chain = chain
        self.answer = answer

    async def table(self) -> RuntimeTable:
        return bundled("assetHub")

    async def raw_runtime_call(self, name: str, *_: object) -> dict[str, bool]:
        assert name == "TrustedQueryApi_is_trusted_teleporter"
        if self.answer is None:
            raise ChainUnreachable("it went away")
        return {"Ok": self.answer}


#: A header: the parent's hash, the number 5 as a compact, and the rest.
HEAD = bytes(32) + bytes([5 << 2]) + b"rest"
BLOCK = "0x" + blake2b(HEAD, digest_size=32).hexdigest()


class Told:
    """A node of the parachain, or of its relay chain, with what it tells; None: it refuses to."""

    def __init__(
        self, chain: Chain, *, para_id: int | None, head: bytes | None, block: str | None
    ) -> None:
        self.chain = chain
        self.para_id = para_id
        self.head = head
        self.block = block

    async def storage(self, pallet: str, entry: str, *keys: int) -> object:
        if self.chain.role == "relay":
            assert (pallet, entry, keys) == ("Paras", "Heads", (2222,))
            return self.head
        assert (pallet, entry, keys) == ("ParachainInfo", "ParachainId", ())
        if self.para_id is None:
            raise ChainRefused("there is no pallet ParachainInfo")
        return self.para_id

    async def call(self, method: str, number: int) -> str | None:
        assert (method, number) == ("chain_getBlockHash", 5)
        return self.block


def check(
    *, para_id: int | None = 2222, head: bytes | None = HEAD, block: str | None = BLOCK
) -> None:
    known = registry()
    wanted = transfer("assetHub", "own", "DOT", known)

    def clients(chain: Chain) -> Told:
        return Told(chain, para_id=para_id, head=head, block=block)

    places = (wanted.source, wanted.destination)
    finish(check_para_ids(clients, places, known))  # type: ignore[arg-type]


def test_a_chain_is_the_one_that_its_relay_chain_knows() -> None:
    check()


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"para_id": 2223}, ("chains.own.para_id", 2222, 2223)),
        ({"head": None}, ("chains.own.para_id", 2222, "Polkadot has no parachain")),
        (
            {"block": "0x" + "11" * 32},
            ("chains.own", "not the parachain 2222 of Polkadot", "block 5"),
        ),
    ],
)
def test_a_chain_that_is_another_one_is_refused(
    told: dict[str, Any], words: tuple[Any, ...]
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        check(**told)
    assert str(refused.value) == says(*words)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"para_id": None}, ("ParachainInfo.ParachainId", "own")),
        ({"head": b"short"}, ("own", "polkadot", "could not be found")),
        ({"block": None}, ("own", "block 5", "polkadot")),
    ],
)
def test_what_is_not_told_is_not_known(told: dict[str, Any], words: tuple[Any, ...]) -> None:
    with pytest.raises(Inconclusive) as unknown:
        check(**told)
    assert str(unknown.value) == says(*words)
