"""The scripts in `examples/` on a current runtime, with the metadata hash."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.chains.addresses import format_account
from tests.conftest import ROOT
from tests.live.conftest import Live
from tests.live.recorder import fresh
from tests.signing import dev_key

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("live_only")]

EXAMPLES = ROOT / "examples"
SIGN = str(EXAMPLES / "sign.py")


class Scripts:
    """Runs the scripts with the program on the PATH and the live chains in its config.toml."""

    def __init__(self, home: Path, config: Path) -> None:
        self.home = home
        for name, line in (("scenarioctl", f"-m scenarioctl --config {config}"), ("python3", "")):
            (home / name).write_text(f'#!/bin/sh\nexec {sys.executable} {line} "$@"\n')
            (home / name).chmod(0o755)

    def __call__(self, uri: str, script: str, *line: str) -> Any:
        done = subprocess.run(
            [script if "/" in script else str(self.home / script), *line],
            cwd=self.home,
            env={
                "HOME": str(self.home),
                "PATH": f"{self.home}:{os.environ['PATH']}",
                "PYTHONPATH": os.pathsep.join((str(ROOT), os.environ["PYTHONPATH"])),
                "SIGNER_KEY": uri,
            },
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def pay(self, receiver: str) -> Any:
        line = ("liveHub", "KSM", "10", receiver, dev_key().ss58_address, SIGN)
        return self("//Alice", str(EXAMPLES / "pay.sh"), *line)


@pytest.fixture
def scripts(tmp_path: Path, live_config: Path) -> Scripts:
    return Scripts(tmp_path, live_config)


def test_pay_pays(asset_hub: Live, scripts: Scripts) -> None:
    assert scripts.pay(format_account(fresh(32), 42))["success"]
