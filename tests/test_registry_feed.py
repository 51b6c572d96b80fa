"""A signed feed replaces the facts about chains: whole or not at all, never by an older one, and
never unasked if it opens something."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from Crypto.PublicKey import ECC

from scenarioctl.application import Application
from scenarioctl.chains import fact_rows
from scenarioctl.chains.fact_changes import compare_rows
from scenarioctl.chains.fact_feed import install, judge, read_signed, sign
from scenarioctl.chains.fact_rows import (
    FILES,
    LIMIT,
    VERSION,
    Rows,
    feed_path,
    package_facts,
    read_feed,
)
from scenarioctl.config import load_settings
from scenarioctl.errors import Conflict, InvalidRequest, RequestFailed
from scenarioctl.operations import registry_feeds
from scenarioctl.operations.registry_feeds import update_unattended
from scenarioctl.worker.chores import Pace
from scenarioctl.worker.worker import Worker
from tests.conftest import BOB, Run
from tests.daemons import NotifySocket, daemon, wait_until
from tests.messages import says
from tests.serving import Serving
from tests.test_daemon import half_sent, read_all
from tests.web import Visit, serving
from tools import make_feed
from tools.make_feed import make_payload

KEY, OTHER_KEY = ECC.generate(curve="Ed25519"), ECC.generate(curve="Ed25519")
NOW = datetime(2026, 11, 23, tzinfo=UTC)
Change = Callable[[Rows], object]
Update = Callable[..., tuple[int, str, str]]


def public(key: Any) -> str:
    return str(key.public_key().export_key(format="raw").hex())


def rows() -> Rows:
    return {kind: package_facts(kind) for kind in FILES}


def feed(
    change: Change = lambda _: None,
    *,
    key: Any = KEY,
    version: int = VERSION + 1,
    now: datetime = NOW,
) -> bytes:
    changed = rows()
    change(changed)
    return sign(make_payload(changed, version=version, now=now), key)


def close_anew(rows: Rows) -> None:
    rows["closed"]["anew"] = {
        "title": "Anew",
        "closed": "May 2026",
        "source": "a test",
        "read": "2026-11-23",
    }


def set_chain(name: str, **fields: object) -> Change:
    return lambda rows: rows["chains"][name].update(fields)


def set_asset(chain: str, id: str, cell: int, value: object) -> Change:
    def change(rows: Rows) -> None:
        row = next(row for row in rows["assets"][chain] if row[0] == id)
        row[cell] = value

    return change


def drop_routes(source: str, destination: str) -> Change:
    def change(rows: Rows) -> None:
        rows["routes"][source] = [row for row in rows["routes"][source] if row[0] != destination]

    return change


@pytest.fixture
def update(scenarioctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Update:
    """Install a feed with the command, and return its exit code, answer and sentences; one key may
    sign."""
    monkeypatch.setenv("SCENARIOCTL_REGISTRY_KEYS", public(KEY))

    def run(data: bytes, *words: str) -> tuple[int, str, str]:
        path = tmp_path / "feed.json"
        path.write_bytes(data)
        ended = scenarioctl("registry", "update", "--from", str(path), *words)
        return ended.code, ended.out, ended.err.replace(str(path), "FEED")

    return run


def in_force() -> int | None:
    found, problem = read_feed(feed_path())
    assert problem == ""
    return None if found is None else found.header.version


def run_anew(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the program in a process of its own, which reads the facts anew."""
    return subprocess.run(
        [sys.executable, "-m", "scenarioctl", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path.cwd(),
    )


def test_the_rows_of_the_package_change_nothing(update: Update) -> None:
    assert compare_rows(rows(), rows()) == []
    assert update(feed()) == (0, "", says("Version", str(VERSION + 1)))
    assert in_force() == VERSION + 1


def test_the_version_of_the_package_is_not_older_than_its_rows() -> None:
    texts = [file.read_text(encoding="utf-8") for kind, file in FILES.items() if kind != "runtimes"]
    dates = {
        word[:10]
        for text in texts
        for word in text.split('"')
        if word.startswith("202") and word[4:5] == "-"
    }

    assert max(dates).replace("-", "") <= str(VERSION)[:8]


def with_payload(data: bytes, change: Callable[[str], str]) -> bytes:
    envelope = json.loads(data)
    return json.dumps({**envelope, "payload": change(envelope["payload"])}).encode()


REFUSED: dict[str, tuple[Callable[[], bytes], int, tuple[str, ...]]] = {
    "no feed": (lambda: b"{}", 2, ("FEED", "not a signed feed")),
    "wrong signature": (
        lambda: with_payload(
            feed(), lambda text: text.replace('"decimals":10', '"decimals":11', 1)
        ),
        2,
        ("wrong signature",),
    ),
    "another's signature": (
        lambda: json.dumps({**json.loads(feed(key=OTHER_KEY)), "key": public(KEY)}).encode(),
        2,
        ("wrong signature",),
    ),
    "older": (lambda: feed(version=VERSION - 1), 4, (str(VERSION - 1), str(VERSION))),
    "as old as the package": (lambda: feed(close_anew, version=VERSION), 4, (str(VERSION),)),
    "expired": (
        lambda: feed(now=NOW - timedelta(days=91)),
        2,
        ("2026-08-24", "expired", "2026-11-22"),
    ),
    "another format": (
        lambda: sign(
            make_payload(rows(), version=VERSION + 1, now=NOW).replace(
                b'"format":1', b'"format":2'
            ),
            KEY,
        ),
        2,
        ("format 2",),
    ),
    "a kind is missing": (lambda: feed(lambda rows: rows.pop("trust")), 2, ("can't read",)),
    "a field is unknown": (lambda: feed(set_chain("polkadot", colour="pink")), 2, ("colour",)),
    "decimals are a text": (lambda: feed(set_chain("polkadot", decimals="10")), 2, ("decimals",)),
    "an asset is cut": (lambda: feed(set_asset("polkadot", "0", 2, "10")), 2, ("polkadot",)),
    "a location is none": (lambda: feed(set_asset("polkadot", "0", 5, "0/There")), 2, ("0/There",)),
    "a closure says something else": (
        lambda: feed(
            lambda rows: rows["closed"].update(
                anew={"title": "evil.example", "source": "a test", "read": "2026-11-23"}
            )
        ),
        2,
        ("title",),
    ),
    "a relay chain is gone": (
        lambda: feed(lambda rows: rows["chains"].pop("kusama")),
        2,
        ("kusama",),
    ),
    "trust facts are gone": (
        lambda: feed(lambda rows: rows["trust"].pop("hydraDx")),
        2,
        ("hydraDx",),
    ),
    "dated tomorrow": (
        lambda: feed(now=NOW + timedelta(days=1)),
        2,
        (str((NOW + timedelta(days=1)).date()), str(NOW.date()), "clock"),
    ),
    "rows of tomorrow": (
        lambda: feed(
            lambda rows: rows["assets"].update(read=str((NOW + timedelta(days=1)).date()))
        ),
        2,
        (str((NOW + timedelta(days=1)).date()), "after"),
    ),
    # Only one of them would be compared with what is there.
    "an asset is there twice": (
        lambda: feed(lambda rows: rows["assets"]["assetHub"].insert(0, ["1984", "DED", 10])),
        2,
        ("assetHub", "two rows", "1984"),
    ),
    "a route is there twice": (
        lambda: feed(
            lambda rows: rows["routes"]["polkadot"].insert(0, rows["routes"]["polkadot"][0])
        ),
        2,
        ("polkadot", "two rows"),
    ),
    "a key has a line break": (
        lambda: feed(lambda rows: rows["assets"].update({'a"\n': []})),
        2,
        ("can't read",),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_trusted_or_read_is_refused_in_one_sentence(
    update: Update, name: str
) -> None:
    make, code, words = REFUSED[name]

    assert update(make(), "--yes") == (code, "", says("feed", *words))
    assert not feed_path().exists()


def test_a_key_that_is_not_in_the_settings_signs_nothing(update: Update) -> None:
    key = public(OTHER_KEY)

    assert update(feed(key=OTHER_KEY), "--yes") == (2, "", says("registry_keys", KEY=key))
    assert not feed_path().exists()


def test_a_file_of_100_mb_is_refused_before_it_is_read(
    scenarioctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "feed.json"
    path.touch()
    os.truncate(path, 100_000_000)
    monkeypatch.setattr("scenarioctl.operations.registry_feeds.read_file", pytest.fail)
    ended = scenarioctl("registry", "update", "--from", str(path))

    assert (ended.code, ended.err) == (2, says("feed", str(LIMIT), path=str(path)))


def test_an_installed_feed_is_not_replaced_by_an_older_one(update: Update) -> None:
    assert update(feed(close_anew, version=VERSION + 5))[0] == 0
    code, _, err = update(feed(version=VERSION + 4), "--yes")

    assert (code, err) == (4, says("feed", str(VERSION + 4), str(VERSION + 5)))
    assert in_force() == VERSION + 5


OPENS: dict[str, tuple[Change, tuple[str, ...]]] = {
    "a doubt": (
        set_chain("shiden", doubt="Move all to evil.example."),
        ("Shiden", "doubt", "evil.example"),
    ),
    "advice": (
        lambda rows: rows["closed"].update(
            anew={"title": "Anew", "instead": "use evil", "source": "a test", "read": "2026-11-23"}
        ),
        ("closed chain Anew",),
    ),
    "decimals of a chain": (
        set_chain("polkadot", decimals=12),
        ("Polkadot", "decimals", "10 → 12"),
    ),
    "decimals of an asset": (
        set_asset("assetHub", "1984", 2, 8),
        ("asset 1984 of Polkadot Asset Hub", "decimals 6 → 8"),
    ),
    "another location": (
        set_asset("assetHub", "DOT", 5, "0/Here"),
        ("asset DOT", "location 1/Here → 0/Here"),
    ),
    "genesis": (set_chain("polkadot", genesis=f"0x{7:064x}"), ("genesis", "0x91b1")),
    "an endpoint": (
        set_chain("kusama", endpoints=["wss://evil.example"]),
        ("Kusama", "wss://evil.example"),
    ),
    "a chain": (
        lambda rows: rows["chains"].update(
            anew={**rows["chains"]["polkadot"], "title": "Anew", "relay": "anew"}
        ),
        ("Anew", "added"),
    ),
    "a closure is taken back": (
        lambda rows: rows["closed"].pop("moonbeam"),
        ("Moonbeam", "removed"),
    ),
    "a route": (
        lambda rows: rows["routes"]["kusama"].append(
            ["polkadot", "0/Here", "Teleport", "always", "none", "paraspell", "2026-11-23"]
        ),
        ("route of 0/Here from Kusama to Polkadot", "added"),
    ),
    "another way": (
        lambda rows: rows["routes"]["polkadot"][0].__setitem__(2, "LocalReserve"),
        ("route", "Teleport, always → LocalReserve, always"),
    ),
    "what is accepted": (
        lambda rows: rows["trust"]["hydraDx"]["reserves"].append(["1/Here", "relay"]),
        ("what Hydration accepts", "reserves", "from the relay chain"),
    ),
    "whose facts they are": (
        lambda rows: rows["trust"]["hyperbridge"].update(para_id=2034),
        ("what hyperbridge accepts", "para_id", "3367 → 2034"),
    ),
    "facts that refuse something": (
        lambda rows: rows["trust"].pop("hyperbridge"),
        ("what hyperbridge accepts", "removed"),
    ),
    "an asset whose symbol others have": (
        lambda rows: rows["assets"].update(
            assetHub=[row for row in rows["assets"]["assetHub"] if row[0] != "1984"]
        ),
        ("asset 1984", "removed"),
    ),
    "an older runtime": (
        lambda rows: rows["runtimes"]["polkadot"].update(spec_version=1),
        ("known runtime of Polkadot", "→ 1"),
    ),
}


@pytest.mark.parametrize("name", OPENS)
def test_what_opens_or_changes_something_needs_a_yes(update: Update, name: str) -> None:
    change, words = OPENS[name]
    data = feed(change)

    assert update(data) == (2, "", says("--yes", *words))
    assert not feed_path().exists()
    code, out, _ = update(data, "--yes")
    assert (code, in_force()) == (0, VERSION + 1)
    assert "yes" in out


def test_json_has_all_changes_of_a_feed_that_waits_for_a_yes(update: Update) -> None:
    code, _, err = update(feed(set_chain("polkadot", decimals=12, symbol="DOTS")), "--json")

    changes = json.loads(err)["changes"]
    assert code == 2
    assert [(each["field"], each["before"], each["after"], each["opens"]) for each in changes] == [
        ("symbol", "DOT", "DOTS", True),
        ("decimals", "10", "12", True),
    ]


STRICTER: dict[str, Change] = {
    "a closure": close_anew,
    "fewer endpoints": lambda rows: rows["chains"]["polkadot"]["endpoints"].pop(),
    "a route less": drop_routes("polkadot", "people"),
    "a route by check only": lambda rows: rows["routes"]["polkadot"][0].__setitem__(3, "check"),
    "less is accepted": lambda rows: rows["trust"]["hydraDx"]["reserves"].pop(),
    "a newer runtime": lambda rows: rows["runtimes"]["polkadot"].update(spec_version=3_000_000),
}


@pytest.mark.parametrize("name", STRICTER)
def test_what_is_stricter_is_installed_unasked_and_told(update: Update, name: str) -> None:
    code, out, _ = update(feed(STRICTER[name]))

    assert (code, in_force(), len(out.splitlines())) == (0, VERSION + 1, 1)


@pytest.mark.processes
def test_installed_facts_are_what_the_program_goes_by(update: Update, tmp_path: Path) -> None:
    def change(rows: Rows) -> None:
        close_anew(rows)
        drop_routes("polkadot", "people")(rows)
        rows["runtimes"]["polkadot"].update(spec_version=3_000_000)

    assert update(feed(change))[0] == 0
    transfer = (
        "--offline",
        "tx",
        "transfer",
        "--from",
        "polkadot",
        "--asset",
        "DOT",
        "--amount",
        "1",
    )
    refused = run_anew(*transfer, "--to", "people", "--to-address", BOB)
    built = run_anew(*transfer, "--to", "assetHub", "--to-address", BOB)

    assert run_anew("chain", "show", "anew").stderr == says("Anew", "closed in May 2026")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert (built.returncode, built.stderr) == (0, says("Polkadot", "3000000", "2000000"))
    shown = json.loads(run_anew("registry", "show", "--json").stdout)
    facts = json.loads(run_anew("status", "--offline", "--json").stdout)["facts"]
    assert facts == {"date": "2026-11-23", "source": str(tmp_path / "feed.json"), "waiting": ""}
    assert (shown["version"], shown["key"], shown["age_days"] >= 0) == (
        VERSION + 1,
        public(KEY),
        True,
    )
    assert (len(shown["digest"]), shown["previous"]) == (64, "")


@pytest.mark.processes
def test_the_package_goes_before_a_feed_that_is_not_newer_or_is_damaged(update: Update) -> None:
    assert update(feed(close_anew))[0] == 0
    path = feed_path()
    data = path.read_bytes()

    for damaged in (data.replace(b"May 2026", b"May 2025"), data[:500], b"", b"[]\n", b"{}\n\xff"):
        path.write_bytes(damaged)
        shown = run_anew("registry", "show", "--json")
        assert json.loads(shown.stdout)["source"] == "package"
        assert json.loads(shown.stderr)["warning"] == says("damaged", path=str(path))
    (check,) = (
        each
        for each in json.loads(run_anew("--offline", "--json", "doctor").stdout)["checks"]
        if each["name"] == "facts"
    )
    assert (check["ok"], check["text"]) == (None, says("damaged", path=str(path)))
    path.write_bytes(data.replace(str(VERSION + 1).encode(), str(VERSION).encode()))
    shown = run_anew("registry", "show", "--json")
    assert (json.loads(shown.stdout)["source"], shown.stderr) == ("package", "")


def test_the_facts_of_the_package_are_told_over_http(tmp_path: Path) -> None:
    with Serving(tmp_path) as served:
        answer = served.get("/api/registry").json()

    assert (answer["version"], answer["source"]) == (VERSION, "package")
    assert answer["date"].replace("-", "") == str(VERSION)[:8]
    assert (answer["key"], answer["path"], answer["age_days"]) == ("", "", 0)


def test_a_key_that_was_taken_out_of_the_settings_is_told(
    update: Update, scenarioctl: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert update(feed())[0] == 0
    monkeypatch.setenv("SCENARIOCTL_REGISTRY_KEYS", public(OTHER_KEY))

    monkeypatch.setattr(registry_feeds, "installed", lambda: read_feed(feed_path()))

    assert scenarioctl("registry", "show").err == says("Warning", "registry_keys", KEY=public(KEY))


def as_transfer(destination: str) -> dict[str, str]:
    names = ("source_chain", "dest_chain", "assetid", "amount", "destination_address")
    return dict(zip(names, ("polkadot", destination, "DOT", "1", BOB), strict=True))


@pytest.mark.processes
def test_a_daemon_starts_again_with_the_facts_that_are_installed(
    update: Update, tmp_path: Path
) -> None:
    home = Path.home()
    config = tmp_path / "config.toml"
    config.write_text("")
    listen = (
        "--listen",
        "127.0.0.1:0",
        "--listen",
        f"unix:{home}/api.sock",
        "--worker-listen",
        "127.0.0.1:0",
    )
    body = json.dumps(as_transfer("people")).encode()
    line = ("--offline", "--config", str(config))
    with (
        NotifySocket(str(tmp_path / "notify")) as systemd,
        daemon(home, *line, listen=listen, variables={"NOTIFY_SOCKET": systemd.address}) as running,
    ):
        systemd.heard_with("READY")
        addresses = [line for line in running.log.splitlines() if " on " in line]
        before = running.ask("/api/tx/transfer", as_transfer("people"))
        with half_sent(running, "/api/tx/transfer", body) as begun:
            assert update(feed(drop_routes("polkadot", "people")))[0] == 0
            assert systemd.heard_with("RELOADING")
            begun.sendall(body[len(body) // 2 :])
            finished = read_all(begun)
        # Not even while nobody accepts it.
        refused = running.ask("/api/tx/transfer", as_transfer("people"))
        built = running.ask("/api/tx/transfer", as_transfer("assetHub"))
        systemd.heard_with("READY")
        wait_until(lambda: running.log.count("started") == 2)
        later = [line for line in running.log.splitlines() if " on " in line][len(addresses) :]

        config.write_text("rate = 'x'")
        assert update(feed(close_anew, version=VERSION + 2), "--yes")[0] == 0
        running.said("restart the daemon to use them: rate 'x'")
        config.write_text("store_pool = 3")
        assert update(feed(version=VERSION + 3), "--yes")[0] == 0
        running.said("restart the daemon to use them: store_pool changed")
        wait_until(lambda: running.ask("/api/registry")[1]["waiting"] == "store_pool changed")
        status = running.ask("/api/status")[1]["facts"]
        # As before, so that nothing waits.
        feed_path().unlink()
        assert update(feed(drop_routes("polkadot", "people")))[0] == 0
        wait_until(lambda: running.ask("/api/registry")[1]["waiting"] == "")
        # As it was, too: nothing keeps it any more.
        assert update(feed(close_anew, version=VERSION + 2), "--yes")[0] == 0
        wait_until(lambda: running.ask("/api/registry")[1]["waiting"])
        config.write_text("")
        running.process.send_signal(signal.SIGHUP)
        wait_until(lambda: running.log.count("started") == 3)
        assert running.ask("/api/registry")[1]["version"] == VERSION + 2
        assert running.end() == 0

    assert finished.startswith(b"HTTP/1.1 200 OK\r\n")
    assert (before[0], refused[0], built[0]) == (200, 422, 200)
    assert (len(later), later) == (3, addresses)
    assert status["waiting"] == "store_pool changed"


@pytest.mark.processes
def test_a_daemon_that_is_stopped_does_not_start_again(update: Update) -> None:
    body = json.dumps(as_transfer("people")).encode()
    with daemon(Path.home(), "--offline") as running:
        with half_sent(running, "/api/tx/transfer", body) as begun:
            assert update(feed(close_anew))[0] == 0
            running.said("starting again")
            running.process.send_signal(signal.SIGTERM)
            running.said("stopping at SIGTERM")
            begun.sendall(body[len(body) // 2 :])
            finished = read_all(begun)
        ended = running.process.wait(30)

    assert (finished[:15], ended, running.log.count("started")) == (b"HTTP/1.1 200 OK", 0, 1)


def install_in(data: bytes, path: Path) -> None:
    header, rows = read_signed(data, [public(KEY)], source="test", today=NOW.date())
    install(header, rows, path, agreed=judge(header, rows, path))


@pytest.mark.processes
def test_killed_before_the_file_gets_its_name_the_one_before_stands(tmp_path: Path) -> None:
    path, data = tmp_path / "registry.json", tmp_path / "feed.json"
    install_in(feed(), path)
    before = path.read_bytes()
    data.write_bytes(feed(close_anew, version=VERSION + 2))
    code = (
        "import os, signal, sys; from pathlib import Path\n"
        "Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "from scenarioctl.chains.fact_feed import *\n"
        "from datetime import date\n"
        "header, rows = read_signed(Path(sys.argv[1]).read_bytes(), [sys.argv[3]], "
        "source='', today=date(2026, 11, 23))\n"
        "path = Path(sys.argv[2]); install(header, rows, path, agreed=judge(header, rows, path))\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, data, path, public(KEY)], check=False)

    assert ended.returncode == -signal.SIGKILL
    assert path.read_bytes() == before
    install_in(data.read_bytes(), path)


@pytest.mark.processes
def test_of_two_processes_the_newer_feed_stands(tmp_path: Path, update: Update) -> None:
    files = []
    for version in (VERSION + 1, VERSION + 2):
        files.append(tmp_path / str(version))
        files[-1].write_bytes(feed(close_anew, version=version))
    words = [sys.executable, "-m", "scenarioctl", "registry", "update", "--from"]
    running = [
        subprocess.Popen([*words, str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for file in files * 2
    ]
    for each in running:
        each.communicate()

    # One that was judged beside a feed that was replaced meanwhile is refused, as an older one is.
    assert {each.returncode for each in running} <= {0, 4}
    assert in_force() == VERSION + 2 or update(files[1].read_bytes())[0] == 0
    assert in_force() == VERSION + 2


def test_a_feed_that_was_judged_beside_another_one_is_not_installed(tmp_path: Path) -> None:
    path = tmp_path / "registry.json"
    header, rows = read_signed(
        feed(close_anew, version=VERSION + 2), [public(KEY)], source="", today=NOW.date()
    )
    agreed = judge(header, rows, path)
    install_in(feed(set_chain("shiden", doubt="It may close.")), path)

    with pytest.raises(Conflict) as refused:
        install(header, rows, path, agreed=agreed)

    assert str(refused.value) == says("feed", "run the command again")
    found, _ = read_feed(path)
    assert found is not None
    assert found.header.version == VERSION + 1


@pytest.mark.parametrize("source", ["ftp://a/b", "https://", "file:///feed.json"])
def test_only_a_file_and_a_page_are_read(scenarioctl: Run, source: str) -> None:
    ended = scenarioctl("registry", "update", "--from", source)

    assert (ended.code, ended.err) == (2, says("--from", source))


def test_a_key_that_is_none_is_refused(scenarioctl: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCENARIOCTL_REGISTRY_KEYS", "abc")

    assert scenarioctl("config", "show").err == says("registry_keys", "abc")


def test_a_feed_that_is_there_is_not_installed_again(update: Update) -> None:
    assert update(feed(close_anew))[0] == 0
    assert update(feed(close_anew)) == (0, "", says("already"))


def test_without_a_source_the_command_says_where_one_is_set(scenarioctl: Run) -> None:
    ended = scenarioctl("registry", "update")

    assert (ended.code, ended.err) == (2, says("--from", "registry_url"))


def test_one_row_is_read_from_a_feed_by_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "registry.json"
    install_in(feed(set_asset("polkadot", "0", 7, "Polka\u2028dot\n")), path)
    monkeypatch.setattr(fact_rows, "installed", lambda: read_feed(path))

    for kind in ("assets", "routes"):
        for key, row in package_facts(kind).items():
            found = fact_rows.read_fact(kind, key)
            assert found == row or (kind, key) == ("assets", "polkadot")
    assert fact_rows.read_fact("assets", "polkadot")[0][7] == "Polka\u2028dot\n"
    assert fact_rows.read_fact("assets", "nowhere") is None
    assert {kind: fact_rows.read_facts(kind) for kind in FILES if kind != "assets"} == {
        kind: own for kind, own in rows().items() if kind != "assets"
    }


@asynccontextmanager
async def offering(data: list[bytes], **settings: object) -> AsyncIterator[Application]:
    """Serve the last of *data*, and give an application that finds it at `registry_url`."""

    async def talk(visit: Visit) -> None:
        await visit.answer(data[-1], headers="Content-Type: application/json\r\n")

    async with serving(talk) as port:
        given = {
            "registry_url": f"http://127.0.0.1:{port}/registry.json",
            "registry_keys": [public(KEY)],
            "private_targets": ["127.0.0.1"],
        }
        async with Application(load_settings(given | settings)) as app:
            yield app


async def test_a_daemon_installs_what_is_stricter_and_logs_what_changed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    data = [feed(close_anew)]
    async with offering(data) as app:
        await update_unattended(app)
        await update_unattended(app)
        data.append(feed(set_chain("polkadot", decimals=12), version=VERSION + 2))
        await update_unattended(app)
        data.append(feed(close_anew, version=VERSION + 3))
        await update_unattended(app)

    # The last one, so that what it has confirmed doesn't count as old.
    assert in_force() == VERSION + 3
    assert caplog.messages == [
        says("Version", str(VERSION + 1), "Anew"),
        says("Version", str(VERSION + 2), "Polkadot: decimals 10 → 12", "registry update"),
        says("Version", str(VERSION + 3), "dates"),
    ]


async def test_a_daemon_refuses_a_feed_as_the_command_does() -> None:
    async with offering([feed(close_anew, key=OTHER_KEY)]) as app:
        with pytest.raises(InvalidRequest) as refused:
            await update_unattended(app)

    assert str(refused.value) == says("registry_keys", KEY=public(OTHER_KEY))
    assert not feed_path().exists()


@pytest.mark.parametrize("settings", [{"registry_url": ""}, {"offline": True}])
async def test_nobody_is_asked_without_a_url_or_offline(settings: dict[str, object]) -> None:
    async with offering([feed(close_anew)], **settings) as app:
        await update_unattended(app)

    assert not feed_path().exists()


async def test_a_private_host_is_not_asked_unless_it_is_allowed() -> None:
    async with offering([feed(close_anew)], private_targets=[]) as app:
        with pytest.raises(RequestFailed) as refused:
            await update_unattended(app)

    assert "private_targets" in str(refused.value)


async def test_a_worker_looks_for_newer_facts(tmp_path: Path) -> None:
    async with offering([feed(close_anew)], store=str(tmp_path / "s.db")) as app:
        stop = asyncio.Event()
        worker = Worker(app, pace=Pace(first_prune=0, registry=0.1))
        running = asyncio.create_task(worker.run(stop))
        while not feed_path().exists():
            await asyncio.sleep(0.02)
        stop.set()
        await running

    assert in_force() == VERSION + 1


@pytest.mark.parametrize(
    ("pem", "days", "named"),
    [
        (None, "9", "No such file"),
        ("no key", "9", "key format"),
        (ECC.generate(curve="P-256").export_key(format="PEM"), "9", "EdDSA"),
        (KEY.export_key(format="PEM"), "-9", "expired on"),
    ],
    ids=["no file", "no key", "another curve", "expired"],
)
def test_a_feed_that_nobody_could_install_is_not_made(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    pem: str | None,
    days: str,
    named: str,
) -> None:
    key, target = tmp_path / "key.pem", tmp_path / "feed.json"
    if pem is not None:
        key.write_text(pem)
    line = ["--key", str(key), "--version", str(VERSION + 1), "--days", days, str(target)]
    monkeypatch.setattr(sys, "argv", ["make_feed.py", *line])

    with pytest.raises(SystemExit) as ended:
        make_feed.main()

    assert ended.value.code == 2
    assert named in capsys.readouterr().err.splitlines()[-1]
    assert not target.exists()


def test_a_feed_is_made_that_the_printed_key_verifies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    key, target = tmp_path / "key.pem", tmp_path / "feed.json"
    key.write_text(KEY.export_key(format="PEM"))
    line = ["--key", str(key), "--version", str(VERSION + 1), str(target)]
    monkeypatch.setattr(sys, "argv", ["make_feed.py", *line])

    make_feed.main()

    printed = capsys.readouterr().out.strip()
    header, _ = read_signed(
        target.read_bytes(), [printed], source="", today=datetime.now(UTC).date()
    )
    assert (printed, header.version) == (public(KEY), VERSION + 1)
