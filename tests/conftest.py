"""Where the tests find their data, and how they run the program."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

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
