"""Large bodies on their way: how many are borne."""

import pytest

from scenarioctl.errors import NotReady
from scenarioctl.server.bodies import LargeBodies


def test_a_body_without_room_is_refused_and_one_client_has_half_of_it() -> None:
    bodies = LargeBodies()

    with bodies.room("a", 100) as first, bodies.room("b", 100) as second:
        first(40)
        second(50)
        with bodies.room("a", 100) as third, pytest.raises(NotReady) as of_client:
            third(11)
        with bodies.room("c", 100) as fourth, pytest.raises(NotReady):
            fourth(11)
        with bodies.room("a", 100) as fifth:
            fifth(10)
    with bodies.room("a", 100) as sixth:
        sixth(50)

    assert of_client.value.details == {"retry_after": 1}
