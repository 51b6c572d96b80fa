"""Events that a runtime reports."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scenarioctl.chains.locations import XCM_PALLETS


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that a runtime reports."""

    pallet: str
    name: str
    #: By the runtime's own names; a list, or None, if they have none.
    fields: Any = None

    def __str__(self) -> str:
        return f"{self.pallet}.{self.name}"

    def is_of_xcm(self, name: str) -> bool:
        """Tell whether it is the event *name* of the XCM pallet."""
        return self.pallet in XCM_PALLETS and self.name == name


def read_event(value: Any) -> Event:
    """Return the event that a decoded RuntimeEvent is: `{"Pallet": {"Event": fields}}`, or `{"Pallet": "Event"}`."""
    pallet, inner = next(iter(value.items())) if isinstance(value, Mapping) else (str(value), None)
    if isinstance(inner, Mapping):
        name, fields = next(iter(inner.items()))
        return Event(pallet=pallet, name=name, fields=fields)
    return Event(pallet=pallet, name=str(inner))
