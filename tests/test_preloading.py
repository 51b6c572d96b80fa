"""What a daemon imports late would be of another version than the rest, once it was upgraded on the
disk."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import scenarioctl

pytestmark = pytest.mark.processes

TELL = """
import gc, json, sys
from scenarioctl.server.daemon import preload, settle

preload()
settle()
frozen, young = gc.get_freeze_count(), gc.get_threshold()[0]
print(json.dumps({"modules": list(sys.modules), "frozen": frozen, "young": young}))
"""
#: Not of every daemon.
OTHERS = ("scenarioctl.stores.postgres.", "scenarioctl.worker.procrastinate_bell")


def test_a_daemon_has_its_modules_before_it_begins_and_does_not_look_through_them() -> None:
    told = subprocess.run([sys.executable, "-c", TELL], capture_output=True, check=True)
    found = json.loads(told.stdout)
    there = set(found["modules"])
    folder = Path(scenarioctl.__file__).parent
    files = {
        ".".join(path.relative_to(folder.parent).with_suffix("").parts)
        for path in folder.rglob("*.py")
        if path.name not in ("__init__.py", "__main__.py")
    }

    late = {name for name in files - there if not name.startswith((*OTHERS, "scenarioctl.cli."))}
    assert late == set()
    libraries = ("psycopg", "psycopg_pool", "procrastinate", *OTHERS)
    assert {name for name in there if name.startswith(libraries)} == set()
    assert found["frozen"] > 50_000
    assert found["young"] == 10_000
