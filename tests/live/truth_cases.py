"""All cases of benchmarks/truth.py: crafted ones, those composed at random, and ordinary ones."""

from tests.live.branching import BRANCHING
from tests.live.cases import ANY, CAREFUL, OK, UNKNOWN, Case, Verdicts
from tests.live.deposits import DEPOSITS
from tests.live.generated import compose
from tests.live.losses import LOSSES
from tests.live.ordinary import ordinary
from tests.live.programs import ROWS, Row
from tests.live.rights import EXCHANGE, RIGHTS, SYSTEM

#: Rows of programs.py of which more than one verdict is right, or another one, and the line that an
#: ok needs.
RIGHT: dict[str, tuple[Verdicts, str]] = {
    "assets that are burned": (ANY, "destroys 0.5 KSM"),
    "money that is burned": (ANY, "destroys 1 KSM"),
    # Whoever a branch that isn't run could pay.
    "an error handler that does not run": (UNKNOWN, ""),
    "an error handler that runs": (OK | UNKNOWN, ""),
    "a main call that passes": (UNKNOWN, "the main call of Utility.if_else succeeds"),
    "a fallback that runs": (OK | UNKNOWN, "so its fallback runs"),
    "a reserve transfer with an appendix": (UNKNOWN, ""),
    # Those who pay don't sign.
    "somebody else's money": (OK, "which is not the sender"),
    "a proxy that pays": (OK, "which is not the sender"),
    # Nobody holds its key.
    "a teleport to the account of a parachain": (CAREFUL, ""),
}


def cases() -> list[Case]:
    crafted = [*programs(), *BRANCHING, *DEPOSITS, *LOSSES, *RIGHTS, *EXCHANGE, *SYSTEM]
    return [*crafted, *compose(), *ordinary()]


def programs() -> list[Case]:
    """Return the cases of the XCM programs in programs.py."""
    return [_of_row(row) for row in ROWS]


def _of_row(row: Row) -> Case:
    verdicts, line = RIGHT.get(row.name, (frozenset({row.verdict}), ""))
    reason = "" if row.name in RIGHT else row.reason
    return Case(
        name=row.name,
        mode="xcm",
        chain=row.chain,
        call=row.call,
        verdicts=verdicts,
        line=line,
        reason=reason,
    )
