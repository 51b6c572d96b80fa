"""Chains that the environment names: SCENARIOCTL_LIVE_RELAY, _ASSET_HUB, _DEX, _CONTRACTS,
_OMNIPOOL.

The genesis hash is whatever the endpoint reports first: a rig has one of its own.

With SCENARIOCTL_RECORD=1, what is said to these chains is written to tests/data/conversations/, a
file for each test module in which nothing fails.  Where no variable is set, a module that has such
a file is replayed from it; a module that has none is skipped.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.config import load_settings
from tests.conftest import DATA
from tests.live.recorded_metadata import keep_metadata, read_kept
from tests.live.recorder import (
    Conversations,
    Recorder,
    Replay,
    read_conversations,
    repeatable,
    write_conversations,
)
from tests.runner import BlockingConnection, finish

#: Variable, name and para id of the system parachains beside the Asset Hub.
SYSTEM_CHAINS = (
    ("COLLECTIVES", "Collectives", 1001),
    ("BRIDGE_HUB", "BridgeHub", 1002),
    ("PEOPLE", "People", 1004),
    ("CORETIME", "Coretime", 1005),
)
#: Variable -> the chain's name in the tests, and what the configuration says of it.
CHAINS: dict[str, tuple[str, dict[str, Any]]] = {
    "SCENARIOCTL_LIVE_RELAY": ("liveRelay", {"role": "relay"}),
    "SCENARIOCTL_LIVE_ASSET_HUB": (
        "liveHub",
        {"role": "asset_hub", "relay": "liveRelay", "para_id": 1000},
    ),
    "SCENARIOCTL_LIVE_DEX": (
        "liveDex",
        {
            "role": "dex",
            "relay": "liveRelay",
            "para_id": 2034,
            "ss58_prefix": 0,
            "symbol": "HDX",
            "decimals": 12,
        },
    ),
    **{
        f"SCENARIOCTL_LIVE_{variable}": (
            f"live{name}",
            {
                "role": "system",
                "relay": "liveRelay",
                "para_id": para_id,
                "ss58_prefix": 2,
                # A rig's are of another network, whose native asset has another name; it is the
                # relay's here.
                "symbol": "KSM",
                "decimals": 12,
            },
        )
        for variable, name, para_id in SYSTEM_CHAINS
    },
    # An Asset Hub beyond the bridge; a built-in chain has its place, see test_beyond_bridge.py.
    "SCENARIOCTL_LIVE_BEYOND": (
        "liveBeyond",
        {
            "role": "asset_hub",
            "relay": "polkadot",
            "para_id": 1000,
            "ss58_prefix": 0,
            "symbol": "DOT",
            "decimals": 10,
        },
    ),
    # Hydration once more, of which the tests know no asset.
    "SCENARIOCTL_LIVE_PARACHAIN": (
        "liveParachain",
        {
            "role": "parachain",
            "relay": "liveRelay",
            "para_id": 2035,
            "ss58_prefix": 0,
            "symbol": "HDX",
            "decimals": 12,
        },
    ),
    "SCENARIOCTL_LIVE_MYTHOS": (
        "liveMythos",
        {"role": "parachain", "para_id": 3369, "account_bytes": 20},
    ),
    "SCENARIOCTL_LIVE_CONTRACTS": ("liveContracts", {"role": "contracts"}),
    "SCENARIOCTL_LIVE_OMNIPOOL": (
        "liveOmnipool",
        {
            "role": "dex",
            "relay": "polkadot",
            "para_id": 2034,
            "ss58_prefix": 0,
            "symbol": "HDX",
            "decimals": 12,
        },
    ),
}
#: Assets that the tests send; the rig's ids are those of the real chains.
ASSETS: dict[str, list[dict[str, Any]]] = {
    "liveHub": [
        {"id": "1984", "symbol": "USDT", "decimals": 6},
        {"id": "1337", "symbol": "USDC", "decimals": 6},
    ],
    "liveDex": [
        {"id": "5", "symbol": "DOT", "decimals": 10, "location": "1/Here"},
        {
            "id": "10",
            "symbol": "USDT",
            "decimals": 6,
            "location": "1/Parachain(1000)/PalletInstance(50)/GeneralIndex(1984)",
        },
    ],
    "liveOmnipool": [
        {"id": "5", "symbol": "DOT", "decimals": 10},
        {"id": "10", "symbol": "USDT", "decimals": 6},
        {"id": "18", "symbol": "DAI", "decimals": 18},
    ],
}


@dataclass(frozen=True, kw_only=True)
class Live:
    """A chain under test."""

    name: str
    endpoint: str


CONVERSATIONS = DATA / "conversations"


@dataclass(frozen=True, kw_only=True)
class Wire:
    """Where the chains of a module are reached: live ones, live ones through a recorder, or
    replayed ones."""

    endpoints: Mapping[str, str]
    #: Whether it is a replay, or recorded for one.
    replayed: bool = False
    #: Why a chain that has no endpoint has none.
    reason: str = "names no endpoint, and there is no recording of it to replay"


@pytest.fixture(scope="module")
def wire(request: pytest.FixtureRequest) -> Iterator[Wire]:
    recording = CONVERSATIONS / f"{request.path.stem}.json"
    named = {variable: os.environ[variable] for variable in CHAINS if os.environ.get(variable)}
    if named and os.environ.get("SCENARIOCTL_RECORD"):
        yield from _record(recording, named, request.session)
    elif named:
        yield Wire(endpoints=named)
    elif not recording.exists():
        yield Wire(endpoints={})
    else:
        yield from _replay(recording)


def _record(recording: Path, named: Mapping[str, str], session: pytest.Session) -> Iterator[Wire]:
    failed = session.testsfailed
    salt, signatures = os.urandom(16).hex(), dict[str, str]()
    with ExitStack() as stack:
        recorders = {
            variable: stack.enter_context(Recorder(url)) for variable, url in named.items()
        }
        stack.enter_context(repeatable(salt, signatures))
        yield Wire(
            endpoints={variable: each.url for variable, each in recorders.items()}, replayed=True
        )
    chains = {variable: each.exchanges for variable, each in recorders.items()}
    if session.testsfailed > failed or not any(chains.values()):
        return
    CONVERSATIONS.mkdir(exist_ok=True)
    metadata = {
        variable: sorted(map(keep_metadata, each.metadata)) for variable, each in recorders.items()
    }
    write_conversations(
        recording, Conversations(chains=chains, salt=salt, signatures=signatures, metadata=metadata)
    )


def _replay(recording: Path) -> Iterator[Wire]:
    kept = read_conversations(recording)
    with ExitStack() as stack:
        replays = {
            variable: stack.enter_context(Replay(exchanges, read_kept(kept.metadata[variable])))
            for variable, exchanges in kept.chains.items()
        }
        stack.enter_context(repeatable(kept.salt, dict(kept.signatures), hurried=True))
        yield Wire(
            endpoints={variable: each.url for variable, each in replays.items()}, replayed=True
        )


@pytest.fixture(scope="module")
def live_only(wire: Wire) -> None:
    """Skip a test that can't be replayed."""
    if wire.replayed or not wire.endpoints:
        pytest.skip("needs endpoints: it can't be replayed")


def describe(variable: str, endpoint: str) -> dict[str, Any]:
    """Return the configuration of the chain behind *variable*, completed by what its node
    reports."""
    name, given = CHAINS[variable]
    # Whatever the genesis: it is read here, and pinned from then on.
    connection = BlockingConnection(endpoint)
    try:
        genesis, properties = connection.call_many(
            [("chain_getBlockHash", (0,)), ("system_properties", ())]
        )
    finally:
        connection.close()

    def first(key: str, otherwise: Any) -> Any:
        value = (properties or {}).get(key)
        return (value[0] if isinstance(value, list) and value else value) or otherwise

    table = {
        "genesis": genesis,
        "ss58_prefix": first("ss58Format", 42),
        "symbol": first("tokenSymbol", "UNIT"),
        "decimals": first("tokenDecimals", 12),
        **given,
        "endpoints": [endpoint],
        # A fork on this machine.
        "trusted": True,
    }
    if name in ASSETS:
        table["assets"] = [dict(asset) for asset in ASSETS[name]]
    return table


def _live(wire: Wire, variable: str) -> Live:
    if variable not in wire.endpoints:
        pytest.skip(f"{variable} {wire.reason}")
    return Live(name=CHAINS[variable][0], endpoint=wire.endpoints[variable])


@pytest.fixture(scope="module")
def relay(wire: Wire) -> Live:
    return _live(wire, "SCENARIOCTL_LIVE_RELAY")


@pytest.fixture(scope="module")
def asset_hub(wire: Wire) -> Live:
    return _live(wire, "SCENARIOCTL_LIVE_ASSET_HUB")


@pytest.fixture(scope="module")
def dex(wire: Wire) -> Live:
    return _live(wire, "SCENARIOCTL_LIVE_DEX")


@pytest.fixture(scope="module")
def system_chains(wire: Wire) -> list[Live]:
    return [_live(wire, f"SCENARIOCTL_LIVE_{variable}") for variable, *_ in SYSTEM_CHAINS]


@pytest.fixture(scope="module")
def beyond(wire: Wire) -> Live:
    return _live(wire, "SCENARIOCTL_LIVE_BEYOND")


@pytest.fixture(scope="module")
def parachain(wire: Wire) -> Live:
    return _live(wire, "SCENARIOCTL_LIVE_PARACHAIN")


@pytest.fixture(scope="module")
def mythos(wire: Wire) -> Live:
    return _live(wire, "SCENARIOCTL_LIVE_MYTHOS")


@pytest.fixture(scope="module")
def contracts(wire: Wire) -> Live:
    return _live(wire, "SCENARIOCTL_LIVE_CONTRACTS")


@pytest.fixture(scope="module")
def omnipool(wire: Wire) -> Live:
    return _live(wire, "SCENARIOCTL_LIVE_OMNIPOOL")


@pytest.fixture(scope="module")
def live_config(wire: Wire, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a config.toml with every chain that there is."""
    return configure(wire.endpoints, tmp_path_factory.mktemp("live"))


def configure(endpoints: Mapping[str, str], folder: Path) -> Path:
    """Write a config.toml with the chains at *endpoints*, by their variables."""
    import tomli_w

    chains = {CHAINS[variable][0]: describe(variable, url) for variable, url in endpoints.items()}
    backing = chains.get("liveHub", chains.get("liveRelay"))
    for asset in chains.get("liveDex", {}).get("assets", ()):
        if asset["location"] == "1/Here" and backing is not None:
            # A rig may have the runtimes of another network, whose asset has other decimals than
            # DOT.
            asset["decimals"] = backing["decimals"]
    document = {
        "store": str(folder / "scenarios.db"),
        "cache": str(folder / "cache"),
        "chains": chains,
    }
    path = folder / "config.toml"
    path.write_text(tomli_w.dumps(document))
    return path


@pytest.fixture
def live_app(live_config: Path) -> Iterator[Application]:
    app = Application(load_settings({"config": str(live_config)}, {}))
    yield app
    finish(app.close())
