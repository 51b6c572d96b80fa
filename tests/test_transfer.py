"""Transfers: the routes' bytes, the gate, what the signer is told."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarioctl.chains.assets import Assets
from scenarioctl.chains.registry import Registry
from scenarioctl.errors import InvalidRequest
from scenarioctl.runtime.table import RuntimeTable
from scenarioctl.transactions.extrinsic import Draft
from scenarioctl.transactions.transfer.build import build_transfer
from scenarioctl.transactions.transfer.plan import choose_xcm_version
from scenarioctl.transactions.transfer.request import Transfer
from tests.messages import raises, says
from tests.runtimes import ASSETS, BOB, REGISTRY, RIG, bundled, metadata_table, unhex, vectors

_VECTOR_CHAINS = {"relay": "polkadot", "AH": "assetHub", "Hydration": "hydraDx"}
_VECTOR_ASSETS: dict[str, dict[str, object]] = {
    "polkadot": {"DOT": "DOT"},
    "assetHub": {"DOT": "DOT", "USDT": 1984, "USDC": 1337},
    "hydraDx": {"DOT": 5, "USDT": 10, "USDC": 22},
}
DOT = 10**10


def transfer(
    source: str, destination: str, asset: object, amount: int, beneficiary: bytes = BOB
) -> Transfer:
    chain, to = REGISTRY.find(source), REGISTRY.find(destination)
    return Transfer(
        source=chain,
        destination=to,
        asset=ASSETS.find(chain, asset),
        amount=amount,
        beneficiary=beneficiary[: to.account_format.length] if beneficiary == BOB else beneficiary,
        accept_loss=True,
    )


def build(
    source: str,
    destination: str,
    asset: object,
    amount: int,
    *,
    table: RuntimeTable | None = None,
    xcm_version: int | None = None,
    **options: Any,
) -> Draft:
    return build_transfer(
        replace(transfer(source, destination, asset, amount), xcm_version=xcm_version),
        table or bundled(source),
        assets=ASSETS,
        **options,
    )


def from_vector(vector: dict[str, Any]) -> Transfer:
    """Return what a vector of kind `builder` asks for."""
    source = vector["chain"]
    if vector["group"] == "same-chain":
        currency = vector["currency"]
        named = currency.get("id", currency.get("symbol"))
        asset = named["value"] if isinstance(named, dict) else named
        return transfer(source, source, asset, int(vector["amount"]))
    ends, symbol = vector["name"].split(" ")[:2]
    destination = _VECTOR_CHAINS[ends.split("->")[1]]
    wanted = transfer(source, destination, _VECTOR_ASSETS[source][symbol], int(vector["amount"]))
    return replace(wanted, xcm_version=int(vector["name"][-1]))


@pytest.mark.parametrize("vector", vectors("builder"), ids=lambda vector: vector["id"])
def test_the_bytes_are_those_of_independent_builders(vector: dict[str, Any]) -> None:
    table = metadata_table(vector["metadata"])

    draft = build_transfer(from_vector(vector), table, assets=ASSETS)

    assert "0x" + table.encode_call(draft.call).hex() == vector["callHex"]
    assert table.decode_call(unhex(vector["callHex"])) == draft.call


def test_without_a_version_xcm_is_the_highest_that_both_runtimes_know() -> None:
    newest, old = bundled("assetHub"), metadata_table("polkadot-1002005.v14.scale")
    wanted = transfer("assetHub", "polkadot", "DOT", DOT)

    alone = choose_xcm_version(wanted, newest)
    together = choose_xcm_version(wanted, newest, old)
    other_way = choose_xcm_version(wanted, old, newest)

    assert (alone, together, other_way) == (5, 4, 4)


def test_a_version_that_one_runtime_does_not_know_is_refused() -> None:
    old = metadata_table("polkadot-1002005.v14.scale")

    with raises(InvalidRequest, says("xcm_version", "5", "Polkadot Asset Hub", "Polkadot", "3, 4")):
        build("assetHub", "polkadot", "DOT", DOT, destination_table=old, xcm_version=5)


#: Everything that can be sent: (source, destination, asset).
WAYS = [
    ("polkadot", "assetHub", "DOT"),
    ("assetHub", "polkadot", "DOT"),
    ("assetHub", "hydraDx", "DOT"),
    ("assetHub", "hydraDx", 1984),
    ("assetHub", "hydraDx", 1337),
    ("assetHub", "hydraDx", "2/GlobalConsensus(Ethereum:1)"),
    ("hydraDx", "assetHub", 34),
    ("hydraDx", "assetHub", 1000809),
    ("righub", "rigdex", 4294967295),
    ("hydraDx", "assetHub", 5),
    ("hydraDx", "assetHub", 10),
    ("hydraDx", "assetHub", 22),
    ("hydraDx", "polkadot", 5),
    ("polkadot", "hydraDx", "DOT"),
    ("kusama", "assetHub_kusama", "KSM"),
    ("assetHub_kusama", "kusama", "KSM"),
    ("rigrelay", "righub", "KSM"),
    ("righub", "rigrelay", "KSM"),
    ("righub", "rigdex", "KSM"),
    ("righub", "rigdex", 1984),
    ("rigdex", "righub", 5),
    ("rigdex", "righub", 10),
    ("rigdex", "rigrelay", 5),
    ("rigrelay", "rigdex", "KSM"),
    ("polkadot", "polkadot", "DOT"),
    ("assetHub", "assetHub", "DOT"),
    ("assetHub", "assetHub", 1984),
    ("assetHub", "assetHub", "HDX"),
    ("assetHub", "assetHub", "2/GlobalConsensus(Kusama)"),
    ("assetHub", "assetHub", "wstETH"),
    ("assetHub", "assetHub", "AJUN"),
    ("assetHub_kusama", "assetHub_kusama", "2/GlobalConsensus(Polkadot)"),
    ("hydraDx", "hydraDx", "HDX"),
    ("hydraDx", "hydraDx", 5),
    ("hydraDx", "hydraDx", 222),
    ("kusama", "kusama", "KSM"),
    ("assetHub_kusama", "assetHub_kusama", 1984),
    ("rigdex", "rigdex", 7),
]


@pytest.mark.parametrize(("source", "destination", "asset"), WAYS)
@settings(max_examples=25, deadline=None)
@given(
    amount=st.integers(min_value=10**12, max_value=2**128 - 1),
    beneficiary=st.binary(min_size=32, max_size=32),
    version=st.sampled_from([3, 4, 5]),
)
def test_what_is_encoded_decodes_to_what_was_meant(
    source: str, destination: str, asset: object, amount: int, beneficiary: bytes, version: int
) -> None:
    table = bundled(source)

    draft = build_transfer(
        replace(
            transfer(source, destination, asset, amount, beneficiary),
            xcm_version=version if source != destination else None,
        ),
        table,
        assets=ASSETS,
    )

    data = table.encode_call(draft.call)
    assert table.decode_call(data) == draft.call
    assert data.count(beneficiary) == 1


def test_the_rig_is_sent_over_as_its_names_do_not_matter() -> None:
    ours = build("hydraDx", "polkadot", 5, 7 * 10**12, xcm_version=5)
    rig = build("rigdex", "rigrelay", 5, 7 * 10**12, xcm_version=5)

    assert rig.call == ours.call


DELIVERY = ("assetHub", "delivery", "0.1 DOT", "FeesNotMet")
HALF = ("half of the amount (0.5 DOT)", "last hop")


@pytest.mark.parametrize(
    ("source", "destination", "asset", "amount", "warnings"),
    [
        ("polkadot", "assetHub", "DOT", DOT, ()),
        (
            "polkadot",
            "polkadot",
            "DOT",
            DOT - 1,
            (("below the existential deposit of 1 DOT", "polkadot"),),
        ),
        (
            "assetHub",
            "polkadot",
            "DOT",
            DOT,
            (("fees", "can be below the existential deposit of 1 DOT", "polkadot"), DELIVERY),
        ),
        (
            "assetHub",
            "hydraDx",
            "2/GlobalConsensus(Ethereum:1)",
            10**18,
            (DELIVERY, ("hydraDx", "price for ETH", "trapped")),
        ),
        (
            "hydraDx",
            "assetHub",
            34,
            10**18,
            (("no DOT", "assetHub", "receive ETH"), ("assetHub", "fee in ETH", "trapped")),
        ),
        (
            "righub",
            "rigdex",
            4294967295,
            DOT,
            (
                ("rigdex is not known to list", "4294967295", "trapped"),
                ("righub", "delivery", "a little KSM", "FeesNotMet"),
            ),
        ),
        (
            "hydraDx",
            "assetHub",
            10,
            10**6,
            (("Polkadot Asset Hub takes its fee", "USDT", "trapped"),),
        ),
        ("polkadot", "hydraDx", "DOT", DOT, ((*HALF, "Polkadot to Hydration"),)),
        (
            "hydraDx",
            "polkadot",
            5,
            DOT,
            (
                (*HALF, "Hydration to Polkadot"),
                ("fees", "can be below the existential deposit of 1 DOT", "polkadot"),
            ),
        ),
        ("hydraDx", "hydraDx", 222, 10**18, (("HOLLAR", "Currencies.transfer", "HDX for fees"),)),
    ],
)
def test_the_signer_is_warned(
    source: str, destination: str, asset: object, amount: int, warnings: tuple[tuple[str, ...], ...]
) -> None:
    draft = build(source, destination, asset, amount, destination_table=bundled(destination))

    assert draft.warnings == tuple(says(*words) for words in warnings)


def test_the_runtime_tells_the_existential_deposit_of_a_native_asset() -> None:
    known = build("righub", "rigrelay", "KSM", 333333332, destination_table=bundled("kusama"))
    unknown = build("righub", "rigrelay", "KSM", 333333332)

    assert known.warnings[0] == says("The amount is below", "0.000333333333 KSM on rigrelay")
    assert len(unknown.warnings) == 1


def test_a_measured_last_hop_fee_is_used_without_a_warning() -> None:
    draft = build("polkadot", "hydraDx", "DOT", DOT // 2, last_hop_fee=12345)

    assert draft.warnings == ()
    onward = draft.call.args["custom_xcm_on_dest"]["V5"][0]["DepositReserveAsset"]
    assert onward["xcm"][0]["BuyExecution"]["fees"]["fun"] == {"Fungible": 12345}


@pytest.mark.parametrize(
    ("source", "destination", "asset", "words"),
    [
        (
            "hydraDx",
            "assetHub",
            0,
            ("HDX", "UntrustedReserveLocation", "Hydration allows no teleport", "a check"),
        ),
        ("hydraDx", "assetHub", 222, ("HOLLAR", "UntrustedReserveLocation")),
        ("assetHub", "hydraDx", 23, ("PINK", "Hydration is not known to list it", "dry run")),
        ("hydraDx", "polkadot", 0, ("HDX", "only DOT")),
        ("hydraDx", "assetHub", 15, ("vDOT", "bifrost")),
        ("hydraDx", "assetHub", 1000771, ("KSM", "only paraspell", "two", "dry run")),
        (
            "assetHub",
            "hydraDx",
            31337,
            ("WUD", "1000085", "fees", "trap", "`remote_fee_asset` DOT"),
        ),
        ("kusama", "hydraDx", "KSM", ("KSM", "kusama", "bridge", "assetHub_kusama")),
        ("kusama", "assetHub", "KSM", ("KSM", "kusama", "bridge", "assetHub_kusama")),
        (
            "assetHub",
            "mythos",
            "1/Parachain(3369)",
            ("MYTH", "teleport", "ForeignAssets.Reserves", "teleportable", "dry run"),
        ),
        ("rigrelay", "rigcontracts", "KSM", ("KSM", "rigcontracts accepts")),
        ("rigdex", "righub", 7, ("ODD", "location", "[[chains.rigdex.assets]]")),
    ],
)
def test_the_gate_refuses_and_says_why(
    source: str, destination: str, asset: object, words: tuple[str, ...]
) -> None:
    with raises(InvalidRequest, says(source, destination, *words)):
        build(source, destination, asset, 10**15, table=bundled("assetHub"))


@pytest.mark.parametrize(
    ("source", "destination", "asset", "name"),
    [("polkadot", "hydraDx", "DOT", "DOT"), ("hydraDx", "polkadot", 5, "DOT")],
)
def test_less_than_one_token_over_the_asset_hub_needs_a_chain(
    source: str, destination: str, asset: object, name: str
) -> None:
    with raises(
        InvalidRequest, says("amount", f"0.9999999999 {name}", source, destination, f"1 {name}")
    ):
        build(source, destination, asset, DOT - 1)


@pytest.mark.parametrize("amount", [0, -1, 2**128])
def test_an_amount_that_no_chain_can_hold_is_refused(amount: int) -> None:
    with raises(InvalidRequest, says("amount", amount)):
        build("polkadot", "assetHub", "DOT", amount)


def test_a_beneficiary_has_32_bytes() -> None:
    with raises(InvalidRequest, says("11" * 20, "AccountId32")):
        build_transfer(
            transfer("polkadot", "assetHub", "DOT", DOT, b"\x11" * 20),
            bundled("polkadot"),
            assets=ASSETS,
        )


def test_a_second_asset_hub_under_one_relay_is_refused() -> None:
    hub = {
        "role": "asset_hub",
        "relay": "rigrelay",
        "para_id": 1001,
        "symbol": "KSM",
        "decimals": 12,
    }
    registry = Registry(RIG | {"second": hub})
    assets = Assets(registry)
    source = registry.find("rigrelay")
    wanted = Transfer(
        source=source,
        destination=registry.find("second"),
        asset=assets.native(source),
        amount=10**12,
        beneficiary=BOB,
    )

    with raises(InvalidRequest, says("KSM", "rigrelay")):
        build_transfer(wanted, bundled("kusama"), assets=assets)


def test_a_relay_without_an_asset_hub_has_no_routes() -> None:
    tables = {
        "lone": {"role": "relay", "symbol": "ABC", "decimals": 12},
        "exchange": {
            "role": "dex",
            "relay": "lone",
            "para_id": 2034,
            "symbol": "XYZ",
            "decimals": 12,
        },
    }
    registry = Registry(tables)
    assets = Assets(registry)
    source = registry.find("lone")
    wanted = Transfer(
        source=source,
        destination=registry.find("exchange"),
        asset=assets.native(source),
        amount=10**12,
        beneficiary=BOB,
    )

    with raises(InvalidRequest, says("ABC", "lone", "exchange", "Asset Hub")):
        build_transfer(wanted, bundled("kusama"), assets=assets)


def test_a_runtime_without_the_call_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidRequest) as within:
        build("assetHub", "assetHub", 1984, 10**6, table=bundled("polkadot"))
    monkeypatch.setattr(
        RuntimeTable,
        "has_call",
        lambda _, pallet, method: (pallet, method) == ("XcmPallet", "limited_teleport_assets"),
    )
    table = bundled("polkadot").dump()
    with pytest.raises(InvalidRequest) as across:
        build("polkadot", "hydraDx", "DOT", DOT, table=RuntimeTable.load(table))
    monkeypatch.setattr(RuntimeTable, "has_call", lambda *_: False)
    with pytest.raises(InvalidRequest) as speechless:
        build("polkadot", "hydraDx", "DOT", DOT, table=RuntimeTable.load(table))

    assert str(within.value) == says(
        "USDt", "Polkadot Asset Hub", "polkadot 2000000", "Assets.transfer_keep_alive"
    )
    assert str(across.value) == says(
        "DOT", "polkadot 2000000", "transfer_assets_using_type_and_then"
    )
    assert str(speechless.value) == says("DOT", "Polkadot", "Hydration", "XCM", "3, 4 and 5")


#: Route, and the smallest amount of which nothing is said: what is taken on the way and the
#: existential deposit there.
LEAST: tuple[tuple[str, str, object, int], ...] = (
    ("polkadot", "assetHub", "DOT", 30_980_000 + 10**8),
    ("assetHub", "polkadot", "DOT", 11765674 + 10**10),
    ("assetHub", "hydraDx", "DOT", 2_000_000 + 17_540_000),
    ("assetHub", "hydraDx", 1984, 770 + 10_000),
    ("hydraDx", "assetHub", 5, 38726769 + 10**8),
    ("hydraDx", "assetHub", 10, 7_289 + 10_000),
    ("hydraDx", "polkadot", 5, 117103975 + 11765674 + 10**10),
)
FEES = "After fees, the amount can be below the existential deposit of "


@pytest.mark.parametrize(
    ("source", "destination", "asset", "least"),
    LEAST,
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_an_amount_that_the_way_eats_up_is_warned_of(
    source: str, destination: str, asset: object, least: int
) -> None:
    def warned(amount: int) -> bool:
        draft = build(source, destination, asset, amount, destination_table=bundled(destination))
        return any(warning.startswith(FEES) for warning in draft.warnings)

    assert warned(least - 1)
    assert not warned(least)
    assert not warned(10 * least)


@pytest.mark.parametrize("source", ["kusama", "assetHub_kusama"])
def test_an_amount_that_a_system_chain_eats_up_is_warned_of(source: str) -> None:
    # 0.0001 KSM: over the existential deposit of 0.000033333333 KSM.
    draft = build(source, "people_kusama", "KSM", 10**8)

    assert draft.warnings[0].startswith(FEES)


def test_what_is_set_aside_for_the_last_hop_counts_too() -> None:
    def warned(amount: int) -> bool:
        draft = build("polkadot", "hydraDx", "DOT", amount, last_hop_fee=10**9)
        return any(warning.startswith(FEES) for warning in draft.warnings)

    least = 141416587 + 10**9 + 17_540_000
    assert (warned(least - 1), warned(least)) == (True, False)
