"""The program's entry, here and for `python -m scenarioctl`."""

import gc
from typing import NoReturn

#: Objects that are made before it is looked which of them can go: more than most commands make.
_YOUNG = 50_000


def main() -> NoReturn:
    """Run the program; Ctrl-C ends it quietly even while it is still being read."""
    # What a command makes, it needs until it ends: looking again and again is a twentieth of its
    # time.
    gc.set_threshold(_YOUNG)
    try:
        from scenarioctl.cli.main import main as run

        run()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    finally:
        # Else Python looks through all of it once more before it ends: a sixth of the time of a
        # short command.
        gc.freeze()


if __name__ == "__main__":
    main()
