"""Large bodies on their way: how many are borne."""

from dataclasses import replace
from pathlib import Path

import pytest

from scenarioctl.config import Settings
from scenarioctl.errors import NotReady
from scenarioctl.server.bodies import Limits


def test_a_body_without_room_is_refused() -> None:
    settings = Settings(config=Path("c.toml"), store="s.db", cache=Path("cache"))
    limits = Limits(replace(settings, body_limit=25))

    limits.hold(100)
    with pytest.raises(NotReady) as refused:
        limits.hold(1)

    assert refused.value.details == {"retry_after": 1}
