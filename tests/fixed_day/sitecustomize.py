"""The day on which the tests run: facts about chains grow no older while the program that the tests
start and import stays the same.

Python imports this at its start if PYTHONPATH has the folder, which `tests/__init__.py` sees to.
"""

import sys
from typing import Any

_AGES = "scenarioctl.transactions.fact_ages"


class _FixedDay:
    """Finds the one module that knows the calendar, and takes the calendar away from it."""

    @staticmethod
    def find_spec(name: str, *where: Any) -> Any:
        if name != _AGES:
            return None
        from datetime import date
        from functools import wraps
        from importlib.machinery import PathFinder

        spec = PathFinder.find_spec(name, *where)
        assert spec is not None and spec.loader is not None
        execute = spec.loader.exec_module

        def execute_and_fix(module: Any) -> None:
            execute(module)
            module.day_of = wraps(module.day_of)(lambda _: date(2026, 11, 23))

        spec.loader.exec_module = execute_and_fix  # type: ignore[method-assign]
        return spec


sys.meta_path.insert(0, _FixedDay)
