"""Transfers of chains of whose trust nothing is written: only a check may open them, and over the backing chain alone."""

from typing import Any

import pytest

from scenarioctl.chains.assets import Assets
from scenarioctl.chains.registry import Chain, Registry
from scenarioctl.errors import ChainRefused, InvalidRequest
from scenarioctl.transactions.simulation.para_ids import check_para_ids
from scenarioctl.transactions.simulation.runtime_api import Inconclusive
from scenarioctl.transactions.transfer.request import Transfer
from scenarioctl.transactions.transfer.routes import Route, candidate_routes, find_route
from tests.messages import says
from tests.runner import finish
from tests.runtimes import BOB

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
    ],
}
HUB = {"assets": [{**OWN, "id": "1/Parachain(2222)", "kind": "foreign", "location": "1/Parachain(2222)"}]}


def registry(**changes: Any) -> Registry:
    return Registry({"own": PARACHAIN | changes, "assetHub": HUB})


def transfer(source: str, destination: str, asset: object, known: Registry) -> Transfer:
    chain = known.find(source)
    return Transfer(
        source=chain,
        destination=known.find(destination),
        asset=Assets(known).find(chain, asset),
        amount=10**12,
        beneficiary=BOB,
    )


@pytest.mark.parametrize(
    ("source", "destination", "asset", "ways"),
    [
        ("assetHub", "own", "DOT", ("LocalReserve",)),
        ("assetHub", "own", 1984, ("LocalReserve",)),
        ("own", "assetHub", "DOT", ("DestinationReserve",)),
        ("own", "assetHub", 10, ("DestinationReserve",)),
        ("assetHub", "own", "1/Parachain(2222)", ("Teleport", "DestinationReserve")),
        # Another parachain backs it, and the relay chain backs nothing.
        ("own", "assetHub", 7, ()),
        ("polkadot", "own", "DOT", ()),
        ("own", "polkadot", "DOT", ()),
        ("own", "hydraDx", "DOT", ()),
    ],
)
def test_a_check_tries_the_chain_that_backs_the_asset(
    source: str, destination: str, asset: object, ways: tuple[Any, ...]
) -> None:
    known = registry()
    wanted = transfer(source, destination, asset, known)

    assert candidate_routes(wanted, Assets(known)) == tuple(Route(first=way) for way in ways)
    with pytest.raises(InvalidRequest) as refused:
        find_route(wanted, Assets(known), fee_settled=True)
    assert str(refused.value) == says("the assets that own accepts from other chains are not known")
    assert str(refused.value).endswith(
        "; with --check and --sender, a dry run of every hop may prove it"
    ) == bool(ways)


@pytest.mark.parametrize("role", ["parachain", "contracts"])
def test_without_a_genesis_any_node_could_answer_for_it(role: str) -> None:
    known = registry(role=role, genesis="")
    wanted = transfer("assetHub", "own", "DOT", known)

    assert candidate_routes(wanted, Assets(known)) == ()
    with pytest.raises(InvalidRequest) as refused:
        find_route(wanted, Assets(known), fee_settled=True)
    assert ("set genesis in [chains.own]" in str(refused.value)) == (role == "parachain")


def test_an_asset_without_a_location_has_no_way() -> None:
    known = registry(assets=[])
    wanted = transfer("own", "assetHub", "OWN", known)

    assert candidate_routes(wanted, Assets(known)) == ()
    with pytest.raises(InvalidRequest) as refused:
        find_route(wanted, Assets(known), fee_settled=True)
    assert str(refused.value) == says("set location in [[chains.own.assets]]")


class Told:
    """A node that tells one para id, or refuses to."""

    def __init__(self, chain: Chain, told: int | None) -> None:
        self.chain = chain
        self.told = told

    async def storage(self, pallet: str, entry: str) -> int:
        assert (pallet, entry) == ("ParachainInfo", "ParachainId")
        if self.told is None:
            raise ChainRefused("there is no pallet ParachainInfo")
        return self.told


def check(told: int | None) -> None:
    wanted = transfer("assetHub", "own", "DOT", registry())
    finish(check_para_ids(lambda chain: Told(chain, told), wanted))  # type: ignore[arg-type, return-value]


def test_the_para_id_is_the_one_of_the_runtime() -> None:
    check(2222)
    with pytest.raises(InvalidRequest) as refused:
        check(2223)
    assert str(refused.value) == says("chains.own.para_id", 2222, 2223)
    with pytest.raises(Inconclusive) as unknown:
        check(None)
    assert str(unknown.value) == says("ParachainInfo.ParachainId", "own")
