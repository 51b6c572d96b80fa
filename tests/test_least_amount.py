"""A transfer of less than can arrive is refused, and the least that can is named."""

import pytest

from tests.conftest import BOB, Ended, Run
from tests.messages import says
from tests.network import FakeNetwork
from tests.test_check import BOB_KEY, account

#: Route, asset, an amount that is lost, and the least that isn't: each raw, and in whole tokens.
ROUTES = [
    ("polkadot", "assetHub", "DOT", 10**6, "0.0001", 130_980_000, "0.013098"),
    ("assetHub", "hydraDx", "1984", 1000, "0.001", 10_770, "0.01077"),
    ("polkadot", "people", "DOT", 10**8, "0.01", 1_030_980_000, "0.103098"),
    ("polkadot", "polkadot", "DOT", 9 * 10**9, "0.9", 10**10, "1"),
]


@pytest.mark.parametrize(
    ("source", "destination", "asset", "little", "said", "least", "named"), ROUTES
)
def test_a_transfer_of_which_nothing_arrives_is_refused(
    scenarioctl: Run,
    source: str,
    destination: str,
    asset: str,
    little: int,
    said: str,
    least: int,
    named: str,
) -> None:
    route = ("--from", source, "--to", destination, "--asset", asset, "--destination-address", BOB)

    for command in (("create", "scenario"), ("xcm", "asset-transfer"), ("tx", "transfer")):
        refused = scenarioctl("--offline", *command, *route, "--amount", f"{little}raw")
        insisted = scenarioctl(
            "--offline", *command, *route, "--amount", f"{little}raw", "--accept-loss"
        )

        assert (refused.code, refused.out) == (2, "")
        assert (
            refused.err == says(f"amount {said}", "Send at least", named, "--accept-loss").printed
        )
        assert (insisted.code, bool(insisted.out)) == (0, True)
        assert "existential deposit" in insisted.err
        enough = scenarioctl("--offline", *command, *route, "--amount", f"{least}raw")
        short = scenarioctl("--offline", *command, *route, "--amount", f"{least - 1}raw")
        assert (enough.code, short.code) == (0, 2)


TO_HUB = ("--from", "polkadot", "--to", "assetHub", "--asset", "DOT", "--destination-address", BOB)
WITHIN = ("--from", "polkadot", "--to", "polkadot", "--asset", "DOT", "--destination-address", BOB)


def build(network: FakeNetwork, scenarioctl: Run, *words: str) -> Ended:
    return scenarioctl("--config", str(network.config), "xcm", "asset-transfer", *words)


@pytest.mark.parametrize(
    ("route", "little"), [(TO_HUB, "50000000"), (WITHIN, "5000000000")], ids=["across", "within"]
)
def test_a_receiver_who_holds_the_asset_gets_any_amount(
    network: FakeNetwork, scenarioctl: Run, route: tuple[str, ...], little: str
) -> None:
    place = network.chains["assetHub" if route == TO_HUB else "polkadot"]

    unheld = build(network, scenarioctl, *route, "--amount", little)
    place.store("System", "Account", BOB_KEY, value=account(10**12))
    held = build(network, scenarioctl, *route, "--amount", little)

    assert unheld.code == 2
    assert unheld.err == says("too small", "existential deposit").printed
    assert held.code == 0
    assert "existential deposit" not in held.err


def test_not_even_a_receiver_who_holds_the_asset_gets_less_than_the_fees(
    network: FakeNetwork, scenarioctl: Run
) -> None:
    network.chains["assetHub"].store("System", "Account", BOB_KEY, value=account(10**12))

    refused = build(network, scenarioctl, *TO_HUB, "--amount", "1000000")

    assert refused.code == 2
    assert refused.err == says("fees on the way to Polkadot Asset Hub", "Send at least").printed
