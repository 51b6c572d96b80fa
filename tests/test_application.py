"""What handlers receive: the runtime at hand is read once, and again where a newer one has come."""

from pathlib import Path

from scenarioctl.application import Application
from scenarioctl.config import load_settings
from scenarioctl.runtime.metadata import read_metadata
from scenarioctl.runtime.table import load_bundled, save_cached
from tests.conftest import DATA


def offline(tmp_path: Path) -> Application:
    return Application(load_settings({"offline": True, "cache": tmp_path, "store": tmp_path / "s.db"}, {}))


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
