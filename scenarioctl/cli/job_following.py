"""What `--follow` of a log or a mempool has printed: after a failover it reads from the beginning, and prints nothing twice."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

#: Rows that are remembered, the newest.
_KNOWN = 20_000


class Printed:
    """The rows that were printed of `result` or `mempool` in the answers."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._known: dict[object, None] = {}
        #: When the first of them was written; empty if there is none.
        self.since = ""
        self._occurrences: dict[tuple[str, str], str] = {}
        #: Whether rows come again that were printed.
        self.repeats = False

    def take(self, answer: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """Return *answer* with the rows that were not printed yet, and warnings of drafts that repeat lost ones."""
        rows = answer[self._name]
        # Lines are known by their times, which a daemon of an older version may leave out.
        times = answer.get("times", [""] * len(rows)) if self._name == "result" else None
        keys: list[object] = (
            [row.get("uuid") or row["seq"] for row in rows]
            if times is None
            else [*zip(times, rows, strict=True)]
        )
        fresh = [at for at, key in enumerate(keys) if not (self.repeats and key in self._known)]
        if rows and not self.since:
            self.since = rows[0]["Date"] if times is None else times[0]
        self._known |= dict.fromkeys(keys)
        for key in list(islice(self._known, max(0, len(self._known) - _KNOWN))):
            del self._known[key]
        left = {**answer, self._name: [rows[at] for at in fresh]}
        if times is None:
            return left, self._repeated(left[self._name])
        return {**left, "times": [times[at] for at in fresh]} if "times" in answer else left, []

    def _repeated(self, drafts: Sequence[Mapping[str, Any]]) -> list[str]:
        found = []
        for draft in drafts:
            if {"occurrence", "node", "uuid"} <= draft.keys():
                first = self._occurrences.setdefault((draft["node"], draft["occurrence"]), draft["uuid"])
                if first != draft["uuid"]:
                    found.append(
                        f"draft {draft['seq']} is for the occurrence {draft['occurrence']}, which was drafted before"
                        f" as {first}: sign one of them"
                    )
        return found
