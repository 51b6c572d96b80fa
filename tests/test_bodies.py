"""Large bodies on their way: how many are borne, and which of them is given up."""

from scenarioctl.server.bodies import HEAD_START, LargeBodies, LargeBody


def test_a_body_that_comes_slowest_is_given_up_for_the_others() -> None:
    moment = [100.0]
    bodies = LargeBodies(clock=lambda: moment[0])
    stalled, slow, quick, young = (LargeBody(bodies, 1000) for _ in range(4))
    with stalled, slow, quick, young:
        stalled.grow(400)
        for _ in range(10):
            moment[0] += 1
            slow.grow(10)
            quick.grow(30)
        young.began = moment[0] - HEAD_START / 2
        young.grow(200)
        assert bodies.total == 1000

        quick.grow(1)
        assert (stalled.is_given_up, slow.is_given_up, bodies.total) == (True, False, 601)
        quick.grow(400)
        assert (slow.is_given_up, quick.is_given_up, young.is_given_up) == (True, False, False)

    assert bodies.total == 0


def test_a_body_that_is_whole_is_not_given_up() -> None:
    moment = [100.0]
    bodies = LargeBodies(clock=lambda: moment[0])
    with LargeBody(bodies, 1000) as whole, LargeBody(bodies, 1000) as coming:
        whole.grow(900)
        whole.is_whole()
        moment[0] += 60

        coming.grow(200)

        assert (whole.is_given_up, coming.is_given_up, bodies.total) == (False, True, 900)


def test_one_client_has_half_of_the_room_for_large_bodies() -> None:
    bodies = LargeBodies(clock=lambda: 100.0)

    with (
        LargeBody(bodies, 100, client="a") as first,
        LargeBody(bodies, 100, client="a") as second,
        LargeBody(bodies, 100, client="b") as third,
    ):
        first.grow(40)
        first.is_whole()
        second.grow(20)
        third.grow(50)

        assert (first.is_given_up, second.is_given_up, third.is_given_up) == (False, True, False)
        assert bodies.of_client == {"a": 40, "b": 50}
    assert (bodies.total, bodies.of_client) == (0, {})
