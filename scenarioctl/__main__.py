"""The program's entry, here and for `python -m scenarioctl`."""

from typing import NoReturn


def main() -> NoReturn:
    """Run the program; Ctrl-C ends it quietly even while it is still being read."""
    try:
        from scenarioctl.cli.main import main as run

        run()
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
