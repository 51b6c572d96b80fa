"""All cases of benchmarks/truth.py: crafted ones, those composed at random, and ordinary ones."""

from tests.live.cases import Case
from tests.live.generated import compose
from tests.live.losses import LOSSES
from tests.live.ordinary import ordinary
from tests.live.programs import ROWS, Row
from tests.live.rights import EXCHANGE, RIGHTS, SYSTEM


def cases() -> list[Case]:
    crafted = (*(_of_row(row) for row in ROWS), *LOSSES, *RIGHTS, *EXCHANGE, *SYSTEM)
    return [*crafted, *compose(), *ordinary()]


def _of_row(row: Row) -> Case:
    """Return a row of test_programs.py, whose verdict is the only right one."""
    verdicts = frozenset({row.verdict})
    return Case(name=row.name, mode="xcm", chain=row.chain, call=row.call, verdicts=verdicts)
