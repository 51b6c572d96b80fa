"""Where the tests find their data, and how they run the program."""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from hypothesis import settings

# An example that takes long on a busy machine is no wrong answer.
settings.register_profile("scenarioctl", deadline=None)
settings.load_profile("scenarioctl")

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data"
#: Real inputs that may not be committed; the tests over them run where the folder stands beside the checkout.
SHARED = ROOT.parent / "shared"

BOB = "14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3"
BOB_HEX = "0x8eaf04151687736326c9fea17e25fc5287613693c912909cb226aa4794f26a48"


@pytest.fixture(autouse=True)
def _home_of_its_own(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the tests away from the settings and the store of whoever runs them."""
    for name in [name for name in os.environ if name.startswith(("SCENARIOCTL_", "_SCENARIOCTL_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))


@pytest.fixture(scope="session", autouse=True)
def _answers_are_as_described() -> None:
    """Hold every answer that a test gets, of a command, over HTTP or of a handler, against its schema in /openapi.json."""
    import jsonschema_rs

    from scenarioctl.server.answers import ANSWERS
    from scenarioctl.server.endpoints import ENDPOINTS, find_handler

    described: dict[type, list[Any]] = {}
    for row in ENDPOINTS:
        result = get_type_hints(find_handler(row)[0])["return"]
        schema = jsonschema_rs.validator_for(dict(ANSWERS[row.operation].schema))
        described.setdefault(result, []).append(schema)
    for result, schemas in described.items():
        result.answer = _held(result.answer, schemas)  # type: ignore[attr-defined]


def _held(answer: Callable[[Any], Any], schemas: list[Any]) -> Callable[[Any], Any]:
    def held(result: Any) -> Any:
        said = answer(result)
        as_sent = json.loads(json.dumps(said))
        if not any(schema.is_valid(as_sent) for schema in schemas):
            schemas[0].validate(as_sent)
        return said

    return held


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a run of the program ended."""

    out: str
    err: str
    code: int


Run = Callable[..., Ended]


@pytest.fixture
def scenarioctl(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the program in this process, `scenarioctl("--offline", "info", id)`; `stdin` is a path to read."""
    from scenarioctl.cli.main import main

    def run(*arguments: str, stdin: Path | None = None) -> Ended:
        monkeypatch.setattr(sys, "argv", ["scenarioctl", *arguments])
        capsys.readouterr()
        with Path(stdin or os.devnull).open() as file:
            monkeypatch.setattr(sys, "stdin", file)
            with pytest.raises(SystemExit) as ended:
                main()
        captured = capsys.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return Ended(out=captured.out, err=captured.err, code=code)

    return run
