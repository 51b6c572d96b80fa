"""Where the tests find their data, and how they run the program."""

import asyncio
import gc
import json
import os
import re
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import cache, wraps
from importlib import import_module
from inspect import iscoroutinefunction
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from tests.messages import Says

if TYPE_CHECKING:
    from scenarioctl.server.endpoints import Endpoint
    from tests.network import FakeNetwork

# An example that takes long, to make or to test, on a busy machine is no wrong answer.  `make soak`
# names the long profile.
settings.register_profile("soak", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The short one tries the same examples each time: what nobody tried before is found by `make soak`,
# not on the day of a release.
settings.register_profile("short", settings.get_profile("soak"), max_examples=50, derandomize=True)
settings.load_profile("short")


def examples(soak: int) -> int:
    """Return how many examples a test tries that tries *soak* of them in `make soak`: else a
    quarter."""
    return soak if settings.default is settings.get_profile("soak") else soak // 4


ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data"
#: Real inputs that may not be committed; the tests over them run where the folder stands beside the
#: checkout.
SHARED = ROOT.parent / "shared"

BOB = "14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3"
BOB_HEX = "0x8eaf04151687736326c9fea17e25fc5287613693c912909cb226aa4794f26a48"


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give one folder after the other; `mktemp` looks at all that there are before it makes one."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in count())


@pytest.fixture(autouse=True)
def _home_of_its_own(_homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the tests away from the settings and the store of whoever runs them."""
    for name in [
        name for name in os.environ if name.startswith(("SCENARIOCTL_", "_SCENARIOCTL_", "XDG_"))
    ]:
        monkeypatch.delenv(name)
    home = next(_homes)
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that awaits on an event loop of its own, and not for ever."""
    if not iscoroutinefunction(pyfuncitem.obj):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}

    async def bounded() -> None:
        async with asyncio.timeout(300):
            await pyfuncitem.obj(**given)

    asyncio.run(bounded())
    return True


def validate_answers() -> None:
    """Have every handler, of a command, over HTTP or in a test, validate its answers by the schema
    in /openapi.json."""
    from scenarioctl.operations import find_handler
    from scenarioctl.server.endpoints import ENDPOINTS

    for row in ENDPOINTS:
        module, _, name = row.operation.partition(".")
        handler, _ = find_handler(row.operation)
        setattr(import_module(f"scenarioctl.operations.{module}"), name, _validated(handler, row))


def _validated(
    handler: Callable[[Any, Any], Awaitable[Any]], row: "Endpoint"
) -> Callable[[Any, Any], Any]:
    @wraps(handler)
    async def validated(app: Any, request: Any) -> Any:
        result = await handler(app, request)
        answer_validator(row).validate(json.loads(json.dumps(result.answer)))
        return result

    return validated


@cache
def answer_validator(row: "Endpoint") -> Any:
    import jsonschema_rs

    from scenarioctl.operations import answer_type
    from scenarioctl.server.decoding import answer_schemas

    (schema,), definitions = answer_schemas([answer_type(row.operation)], "$defs")
    for definition in definitions.values():
        # Clients have to take more fields than they know; here none is added unseen.
        if "properties" in definition:
            definition["additionalProperties"] = False
    return jsonschema_rs.validator_for({**schema, "$defs": definitions})


#: Seconds for which the next endpoint of a chain waits for the one before it, in tests.
STAGGER = 2.0


def trust_nodes() -> None:
    """Let a pause of this process cause no further question to a node, or to another one: tests say
    who is asked what."""
    from scenarioctl.chains import pool
    from scenarioctl.chains.connection import TIMEOUTS, Timeouts

    pool.QUIET = pool.BELIEVED = 60.0
    Timeouts.__init__.__kwdefaults__["stagger"] = STAGGER  # type: ignore[index]
    object.__setattr__(TIMEOUTS, "stagger", STAGGER)


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a run of the program ended."""

    out: str
    err: str
    code: int

    @property
    def said(self) -> str:
        """What stderr has beside what it repeats of the request."""
        return without_echo(self.err)


def without_echo(err: str) -> str:
    """Return stderr without its first line if that says which scenario was created, or repeats a
    raw amount."""
    return re.sub(r"\A(Created [A-Za-z0-9_-]+: |amount \S+ = ).+\n", "", err)


Run = Callable[..., Ended]


@pytest.fixture
def scenarioctl(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Run the program in this process, `scenarioctl("--offline", "info", id)`; `stdin` is a path to
    read."""
    from scenarioctl.cli.main import main

    def run(*arguments: str, stdin: Path | None = None) -> Ended:
        monkeypatch.setattr(sys, "argv", ["scenarioctl", *arguments])
        capsysbinary.readouterr()
        with Path(stdin or os.devnull).open() as file:
            monkeypatch.setattr(sys, "stdin", file)
            with pytest.raises(SystemExit) as ended:
                main()
        # A picture on stdout is no text.
        out, err = (each.decode(errors="replace") for each in capsysbinary.readouterr())
        code = ended.value.code
        assert isinstance(code, int)
        return Ended(out=out, err=err, code=code)

    return run


@pytest.fixture
def network(tmp_path: Path) -> "Iterator[FakeNetwork]":
    """polkadot, assetHub and hydraDx, which answer what a test says."""
    from tests.network import FakeNetwork

    with FakeNetwork(tmp_path) as network:
        yield network


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-transcripts",
        action="store_true",
        help="write what the commands of the transcripts print now",
    )


def pytest_configure(config: pytest.Config) -> None:
    # What tests start must hear it, also under nohup and in the background of a script.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    from tests import transcripts

    transcripts.updating = config.getoption("--update-transcripts")
    validate_answers()
    trust_nodes()


#: Files that spend most of their time waiting: for leases, for processes that start, for servers
#: that come back.
WAITING = (
    "dispatch",
    "kills",
    "store_postgres",
    "store_durability",
    "preloading",
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Start two workers per core for `make test`, one more than cores with browsers: tests wait
    half of their time."""
    cores = os.cpu_count() or 1
    return 2 * cores if "not acceptance" in config.option.markexpr else cores + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that wait, so that none of them is left alone at the end."""
    items.sort(key=lambda item: item.path.stem.removeprefix("test_") not in WAITING)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import selenium only for a run that has tests in a browser."""
    imports_selenium = collection_path in (
        ROOT / "tests" / "browser",
        ROOT / "tests" / "live" / "test_page.py",
    )
    return (imports_selenium and "not acceptance" in config.option.markexpr) or None


def pytest_collection_finish() -> None:
    """Keep the thousands of collected tests out of every garbage collection from here on."""
    gc.collect()
    gc.freeze()


def pytest_make_parametrize_id(val: object) -> str | None:
    return val.name if isinstance(val, Says) else None
