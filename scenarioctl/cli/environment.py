"""Environment variables with the program's prefix that no setting has: mistyped, they would be ignored in silence."""

import os
from collections.abc import Iterator, Mapping

from scenarioctl.errors import closest

PREFIX = "SCENARIOCTL_"
#: Variables that are no setting: where config.toml is, and whether a bug shows its traceback.
_OTHERS = ("SCENARIOCTL_CONFIG", "SCENARIOCTL_DEBUG", "SCENARIOCTL_PAGER")


def unknown_variables(environment: Mapping[str, str] = os.environ) -> Iterator[str]:
    """Yield a sentence for each variable in *environment* that has a value and means nothing to the program."""
    found = [name for name, value in environment.items() if name.startswith(PREFIX) and value]
    if not found:
        return
    from scenarioctl.config import SETTINGS

    # Compared without the prefix, which would make any two alike.
    known = [name.removeprefix(PREFIX) for name in (*(each.variable for each in SETTINGS), *_OTHERS)]
    for name in sorted({name.removeprefix(PREFIX) for name in found}.difference(known)):
        close = closest(name, known, cutoff=0.7)
        hint = f"did you mean {PREFIX}{close[0]}?" if close else "scenarioctl config show lists the settings"
        # Its value is not shown: it may be a mistyped token.
        yield f"unknown environment variable {PREFIX}{name[:60]}; {hint}"
