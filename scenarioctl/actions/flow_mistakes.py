"""The mistakes of a flow file: the first is raised, or all are collected for a form that shows each at its field."""

import re
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from scenarioctl.actions.fields import Checking, Fields
from scenarioctl.errors import BadJson, InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from scenarioctl.application import Application
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain

T = TypeVar("T")

#: The step that a sentence begins with, and the key: `steps[0].headers.Accept is …`.
_PLACE = re.compile(r"steps\[([0-9]+)\](?:: |\.(?=([a-z_]+)))?")


@dataclass(frozen=True, kw_only=True)
class FlowMistake:
    """One thing that is wrong in a flow file."""

    #: Index of the step; None if the mistake is outside the steps.
    step: int | None
    #: The key in the step or in the flow; empty if the mistake is in none.
    field: str
    #: Without the step in front, and without advice about options of a command.
    sentence: str
    #: The key that, set to true, confirms the value; empty if nothing does.
    confirm: str = ""


class Mistakes:
    """Raises the first mistake."""

    def checking(self, step: int | None = None, field: str = "") -> Checking:
        """Check in here something of *step* and *field*, where the error's sentence does not name them."""
        del step, field
        return Checking()

    def fields(self, values: dict[str, Any], place: str) -> Fields:
        """Return the fields of the step at *place*."""
        return Fields(values, place)


class CollectedMistakes(Mistakes):
    """Collects all mistakes, one for each field of a step."""

    def __init__(self) -> None:
        self.found: list[FlowMistake] = []

    def checking(self, step: int | None = None, field: str = "") -> Checking:
        return Checking(partial(self.add, step=step, field=field))

    def fields(self, values: dict[str, Any], place: str) -> Fields:
        return _CollectingFields(values, place, self)

    def has(self, step: int, field: str = "") -> bool:
        """Return whether a mistake of *step* was found, in *field* if that is given."""
        return any(each.step == step and field in ("", each.field) for each in self.found)

    def add(self, error: InvalidRequest | BadJson, step: int | None = None, field: str = "") -> None:
        """Add the mistake that *error* names; *step* and *field* are told where its sentence names none."""
        sentence = error.statement
        if match := _PLACE.match(sentence):
            step, field = int(match[1]), field or match[2] or ""
            sentence = sentence[match.end() :].strip().replace(f"steps[{step}].", "")
        confirm = str(error.details.get("confirm", ""))
        # The first mistake of a field is the one to fix; what depends on it is not known yet.
        if not any((each.step, each.field) == (step, field) for each in self.found):
            self.found.append(FlowMistake(step=step, field=field, sentence=sentence, confirm=confirm))


class _CollectingFields(Fields):
    """Fields that collect a mistake and return what was typed, so that the step can be drawn.

    A check of several fields is left out while one of the chains is unknown.
    """

    def __init__(self, values: dict[str, Any], place: str, mistakes: CollectedMistakes) -> None:
        super().__init__(values, place)
        self._mistakes = mistakes
        self._unknown: Chain | None = None

    def checking(self) -> Checking:
        return Checking(self._add)

    def _add(self, error: InvalidRequest | BadJson) -> None:
        if self._unknown is None:
            self._mistakes.add(error)

    def text(self, key: str, default: str = "") -> str:
        with self._mistakes.checking():
            return super().text(key, default)
        return default

    def filled(self, key: str) -> str:
        with self._mistakes.checking():
            return super().filled(key)
        return self._typed(key)

    def flag(self, key: str) -> bool:
        with self._mistakes.checking():
            return super().flag(key)
        return False

    def chain(self, app: "Application", key: str, default: str = "") -> "Chain":
        with self._mistakes.checking():
            return super().chain(app, key, default)
        if self._unknown is None:
            # Nothing is known of it: no runtime, no relay chain to share assets with.
            self._unknown = replace(app.registry.all()[0], name="?", role="parachain", relay="", genesis="")
        return self._unknown

    def open(self, key: str, parse: "Callable[[Any, str], T]") -> "T | str | None":
        with self._mistakes.checking():
            return super().open(key, parse)
        return None

    def open_asset(self, app: "Application", chain: "Chain", key: str) -> "Asset | str":
        if chain is not self._unknown:
            with self._mistakes.checking():
                return super().open_asset(app, chain, key)
        return self._typed(key)

    def open_amount(self, key: str, asset: "Asset | str") -> tuple[str, int | None]:
        with self._mistakes.checking():
            return super().open_amount(key, asset)
        return self._typed(key), None

    def open_account(self, key: str, chain: "Chain") -> tuple[str, bytes | None]:
        if chain is not self._unknown:
            with self._mistakes.checking():
                return super().open_account(key, chain)
        return self._typed(key), None

    def _typed(self, key: str) -> str:
        value = self.values.get(key, "")
        return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else ""
