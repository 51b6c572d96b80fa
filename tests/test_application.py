"""What handlers receive: runtimes that are read once, and under a daemon, sessions that share all
but their clients."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from scenarioctl.application import Application, random_scenario_id
from scenarioctl.config import Settings, load_settings
from scenarioctl.errors import ChainUnreachable, InvalidRequest
from scenarioctl.runtime.metadata import read_metadata
from scenarioctl.runtime.table import load_bundled
from scenarioctl.runtime.table_cache import save_cached
from tests.canned import answers
from tests.conftest import DATA
from tests.node import Node
from tests.runtimes import bundled


def offline(tmp_path: Path) -> Application:
    return Application(
        load_settings({"offline": True, "cache": tmp_path, "store": tmp_path / "s.db"}, {})
    )


def test_the_table_at_hand_is_read_once_and_anew_where_another_has_come(tmp_path: Path) -> None:
    app = offline(tmp_path)
    # A chain of no bundled table, so that what is known is what lies in the cache.
    paseo = app.registry.find("paseo")
    older = read_metadata((DATA / "metadata" / "polkadot-1006000.v15.scale").read_bytes())
    newer = load_bundled("polkadot")
    assert newer is not None

    nothing = app.known_runtime(paseo)
    save_cached(older, paseo.genesis, app.runtime_directory(paseo))
    first, again = app.known_runtime(paseo), app.known_runtime(paseo)
    save_cached(newer, paseo.genesis, app.runtime_directory(paseo))
    anew = app.known_runtime(paseo)

    assert nothing is None
    assert first is not None
    assert first is again
    assert anew is not None
    assert (first.spec_version, anew.spec_version) == (1006000, 2000000)


def test_a_bundled_table_stands_where_the_cache_has_only_older_ones(tmp_path: Path) -> None:
    app = offline(tmp_path)
    polkadot = app.registry.find("polkadot")
    older = read_metadata((DATA / "metadata" / "polkadot-1006000.v15.scale").read_bytes())

    save_cached(older, polkadot.genesis, app.runtime_directory(polkadot))

    assert app.known_runtime(polkadot) is load_bundled("polkadot")


class Store:
    """Tells whether it was closed."""

    closed = 0

    async def close(self) -> None:
        self.closed += 1


def settings(tmp_path: Path, **endpoints: str) -> Settings:
    given = load_settings({"cache": tmp_path / "cache", "store": tmp_path / "s.db"}, {})
    return replace(given, chains={chain: {"endpoints": [url]} for chain, url in endpoints.items()})


def served(given: Settings) -> tuple[Application, Store]:
    app, store = Application(given, served=True), Store()
    app.resources.store = store  # type: ignore[assignment]
    return app, store


async def test_nothing_is_opened_before_it_is_used(tmp_path: Path) -> None:
    async with Application(settings(tmp_path)).session() as session:
        assert session.resources.store is None


async def test_sessions_share_all_but_their_clients(tmp_path: Path) -> None:
    app, store = served(settings(tmp_path))
    chain = app.registry.find("polkadot")
    async with app.session() as first, app.session() as second:
        for name in (
            *("registry", "assets", "store", "outgoing", "settings", "clock", "sleep", "served"),
        ):
            assert getattr(first, name) is getattr(second, name) is getattr(app, name)
        assert first.client(chain) is first.client(chain)
        assert first.client(chain) is not second.client(chain)
        assert first.client(chain).tables is second.client(chain).tables
        assert first.known_runtime(chain) is second.known_runtime(chain)
    assert store.closed == 0
    await app.close()
    assert store.closed == 1


def test_a_session_asks_the_chain_with_the_connections_of_all(tmp_path: Path) -> None:
    async def story() -> list[int]:
        app, _ = served(settings(tmp_path, polkadot=node.url))
        chain = app.registry.find("polkadot")
        versions = []
        for _ in range(3):
            async with app.session() as session:
                versions.append((await session.runtime(chain)).spec_version)
        await app.close()
        return versions

    with Node(answers("polkadot")) as node:
        versions = asyncio.run(story())

    assert versions == [2000000] * 3
    assert node.asked == ["chain_getBlockHash", "state_getRuntimeVersion"]


async def test_an_unconnected_view_asks_no_node_and_closes_nothing(tmp_path: Path) -> None:
    app, store = served(settings(tmp_path))
    chain = app.registry.find("polkadot")
    async with app.session() as session:
        view = session.unconnected()
        with pytest.raises(ChainUnreachable):
            view.client(chain)
        assert await view.runtime(chain) is bundled("polkadot")
        assert (view.registry, view.store) == (app.registry, app.store)
        assert view.unconnected() is view
        await view.close()
    assert store.closed == 0
    await app.close()


def test_new_settings_hold_for_the_sessions_that_begin_then(tmp_path: Path) -> None:
    async def story() -> list[str]:
        app, _ = served(settings(tmp_path, polkadot=before.url, kusama="ws://127.0.0.1:1/"))
        polkadot, kusama = app.registry.find("polkadot"), app.registry.find("kusama")
        endpoints = []
        async with app.session() as old:
            await old.client(polkadot).call("chain_getHeader")
            kept = old.client(kusama).tables
            app.renew(settings(tmp_path, polkadot=after.url, kusama="ws://127.0.0.1:1/"))
            async with app.session() as new:
                client = new.client(new.registry.find("polkadot"))
                await client.call("chain_getHeader")
                endpoints.append(client.endpoint)
                # What was not changed goes on with what it has.
                assert new.client(kusama).tables is kept
            await old.client(polkadot).call("chain_getHeader")
            endpoints.append(old.client(polkadot).endpoint)
            assert old.store is app.store
        await app.close()
        return endpoints

    with Node(answers("polkadot")) as before, Node(answers("polkadot")) as after:
        endpoints = asyncio.run(story())

    assert endpoints == [after.url, before.url]


async def test_settings_that_cannot_be_used_change_nothing(tmp_path: Path) -> None:
    app, _ = served(settings(tmp_path))
    known = app.registry

    with pytest.raises(InvalidRequest):
        app.renew(replace(app.settings, chains={"new": {"role": "nonsense"}}))

    assert app.registry is known
    await app.close()


def test_an_older_runtime_stays_at_hand_where_no_genesis_is_configured(tmp_path: Path) -> None:
    async def story() -> None:
        table = {"role": "relay", "symbol": "DOT", "decimals": 10, "endpoints": [node.url]}
        app, _ = served(replace(settings(tmp_path), chains={"mine": table}))
        chain = app.registry.find("mine")
        async with app.session() as session:
            older = await session.runtime(chain)

            assert app.older_runtime(chain, 1006000) is older
            assert app.older_runtime(chain, 1) is None
        await app.close()

    metadata = (DATA / "metadata" / "polkadot-1006000.v15.scale").read_bytes()
    version = {"specName": "polkadot", "specVersion": 1006000}
    with Node(
        answers(
            "polkadot", state_getRuntimeVersion=version, state_getMetadata="0x" + metadata.hex()
        )
    ) as node:
        asyncio.run(story())


@pytest.mark.parametrize("start", ["0x", "0X"])
def test_the_id_of_a_scenario_never_looks_like_hex(
    start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = iter(f"{start}1234567" + "a0x234567")
    monkeypatch.setattr("secrets.choice", lambda _: next(drawn))

    assert random_scenario_id() == "a0x234567"
