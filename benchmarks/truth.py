"""What `tx check` says of hundreds of transactions, beside what real chains then do: is any *ok*
wrong?

Needs chains that it may use up, see CONTRIBUTING.md: SCENARIOCTL_RIG names the command that starts
them.

    SCENARIOCTL_RIG="path/to/rig" python -m benchmarks.truth --details /tmp/truth.json
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.judge import Judgement, Trial, judge
from scenarioctl.application import Application
from scenarioctl.config import load_settings
from scenarioctl.errors import ScenarioctlError
from tests.live.cases import ACTOR, Case
from tests.live.conftest import CHAINS, configure
from tests.live.stage import Stage
from tests.live.truth_cases import cases
from tests.live.world import World
from tests.runner import finish

MODES = ("xcm", "omnipool", "system")
KINDS = ("crafted", "generated", "ordinary")


@dataclass(kw_only=True)
class Row:
    """One case: what was said, what happened, and what that is called."""

    name: str
    mode: str
    kind: str
    chain: str
    verdict: str
    real: str
    judgement: Judgement
    reasons: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    call: str = ""
    stated: list[str] = field(default_factory=list)
    executed: list[str] = field(default_factory=list)
    why: str = ""
    seconds: float = 0.0


def main(words: list[str]) -> int:
    options = _parse(words)
    rig = shlex.split(os.environ.get("SCENARIOCTL_RIG", ""))
    if not rig:
        sys.exit(
            "SCENARIOCTL_RIG is not set. Set it to the command that starts the chains, see "
            "CONTRIBUTING.md"
        )
    rows: list[Row] = []
    for mode in options.mode or MODES:
        chosen = [
            case
            for case in cases()
            if case.mode == mode
            and case.kind in (options.kind or KINDS)
            and options.only in case.name
        ]
        if chosen:
            rows += _run_mode(mode, chosen[:: options.every], rig)
            options.details.write_text(
                json.dumps([asdict(row) for row in rows], indent=1, default=str)
            )
    print(table(rows))
    return int(any(row.judgement.wrong for row in rows))


def _parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare checks with what real chains then do.")
    parser.add_argument(
        "--mode", action="append", choices=MODES, help="only the cases of this mode"
    )
    parser.add_argument("--kind", action="append", choices=KINDS, help="only these cases")
    parser.add_argument("--only", default="", help="only cases with this text in their name")
    parser.add_argument("--every", type=int, default=1, help="only each Nth case")
    parser.add_argument(
        "--details", type=Path, default=Path("truth.json"), help="where each case is written"
    )
    return parser.parse_args(words)


def _run_mode(mode: str, chosen: list[Case], rig: list[str]) -> list[Row]:
    started = subprocess.run([*rig, mode], check=True, stdout=subprocess.PIPE, text=True).stdout
    endpoints = dict(line.split("=", 1) for line in started.split())
    try:
        with tempfile.TemporaryDirectory() as folder:
            settings = load_settings({"config": str(configure(endpoints, Path(folder)))}, {})
            app = Application(settings)
            try:
                rows = _play(
                    World(app, [CHAINS[variable][0] for variable in endpoints]), mode, chosen
                )
            finally:
                finish(app.close())
    finally:
        subprocess.run([*rig, "stop"], check=True)
    return rows


def _play(world: World, mode: str, chosen: list[Case]) -> list[Row]:
    stage = Stage(world)
    stage.prepare(mode)
    world.learn_household(ACTOR)
    rows = []
    for case in chosen:
        rows.append(_run(case, world, stage))
        print(_line(rows[-1]), flush=True)
    return rows


def _run(case: Case, world: World, stage: Stage) -> Row:
    began = time.monotonic()
    row = Row(name=case.name, mode=case.mode, kind=case.kind, chain=case.chain, verdict="", real="",
              judgement=Judgement())  # fmt: skip
    cast, key = stage.cast(case)
    try:
        case.prepare(world, cast)
        world.settle(0.2)
        chain, built = world.chain(case.chain), None
        if case.transfer is None:
            call = case.call(cast)
        else:
            call, built = stage.check_transfer(*case.transfer, to=cast.a, sender=cast.sender)
        row.call = "0x" + world.table(chain).encode_call(call).hex()
        check = stage.check(case.chain, row.call, cast.sender)
        case.meanwhile(world, cast)
        before = world.state()
        outcome = world.submit(chain, call, key)
        after = world.state()
        row.verdict, row.real, row.why = check.verdict, outcome.real, outcome.why
        row.reasons, row.warnings = list(check.reasons), list(check.warnings)
        trial = Trial(case=case, cast=cast, call=call, check=check, built=built, outcome=outcome,
                      before=before, after=after, world=world)  # fmt: skip
        row.judgement = judge(trial)
        row.stated, row.executed = trial.tell()
    except (ScenarioctlError, RuntimeError, KeyError, ValueError) as error:
        row.verdict = row.verdict or "error"
        row.judgement = Judgement(
            kind="not run", details=[f"{type(error).__name__}: {error}"[:400]]
        )
    finally:
        case.restore(world, cast)
    row.seconds = round(time.monotonic() - began, 2)
    return row


def _line(row: Row) -> str:
    words = (
        f"{row.kind[:4]} {row.chain[4:]:>11} {row.name[:60]:<60} {row.verdict:<8} {row.real:<12}"
    )
    return (
        f"{words} {row.judgement.kind:<14} {row.seconds:>5} "
        f"{'; '.join(row.judgement.details)[:200]}"
    )


def table(rows: Iterable[Row]) -> str:
    """Return the outcome in figures, a line for each kind of case and verdict."""
    rows = list(rows)
    kinds = sorted({row.judgement.kind for row in rows})
    lines = [
        f"| cases | verdict | number | {' | '.join(kinds)} |",
        "|---|---|---" + "|---" * len(kinds) + "|",
    ]
    counts: dict[tuple[str, str], Counter[str]] = {}
    for row in rows:
        counts.setdefault((row.kind, row.verdict), Counter())[row.judgement.kind] += 1
    for (kind, verdict), found in sorted(counts.items()):
        cells = [str(found[name] or "") for name in kinds]
        lines.append(f"| {kind} | {verdict} | {sum(found.values())} | {' | '.join(cells)} |")
    total = Counter(row.judgement.kind for row in rows)
    lines.append(f"| all | | {len(rows)} | {' | '.join(str(total[name]) for name in kinds)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
