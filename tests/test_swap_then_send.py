"""A flow that swaps and sends what the swap receives at least: two drafts, in this order."""

from pathlib import Path
from typing import Any

import pytest

from scenarioctl.actions.batching import draft_together
from scenarioctl.actions.drafts import draft_each, draft_first
from scenarioctl.actions.flow_files import draw_flow, read_flow
from scenarioctl.actions.problems import find_problems, unfillable_fields
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.diagram import Diagram, read_diagram
from tests.conftest import BOB, BOB_HEX
from tests.messages import says
from tests.runner import finish
from tests.test_running import Stage

#: 900 HDX, which has 12 decimals.
LEAST = 900 * 10**12


def little(value: int) -> str:
    """Return *value* as a u128 in SCALE."""
    return value.to_bytes(16, "little").hex()


SWAP_TX = "0xac043b05" + "05000000" + "00000000" + little(2 * 10**10) + little(LEAST)
#: Balances.transfer_keep_alive (7, 3) to BOB; the amount is a compact number of 7 bytes (mode 3, 7
#: - 4 = 3).
SEND_TX = "0xac040703" + BOB_HEX.removeprefix("0x") + "0f" + LEAST.to_bytes(7, "little").hex()


@pytest.fixture
def stage(tmp_path: Path) -> Any:
    stage = Stage(tmp_path)
    yield stage
    stage.close()


def swap(**keys: Any) -> dict[str, Any]:
    return {
        "type": "swap",
        "assetin": "DOT",
        "assetout": "HDX",
        "amount": 2,
        "min_received": 900,
        **keys,
    }


def send(amount: str = "{{ swap.min_received }}", **keys: Any) -> dict[str, Any]:
    return {
        "type": "xTransfer",
        "source_chain": "hydraDx",
        "dest_chain": "hydraDx",
        "destination_address": BOB,
        "amount": amount,
        "assetid": "HDX",
        **keys,
    }


def flow(stage: Stage, *steps: dict[str, Any]) -> Diagram:
    return read_diagram(
        draw_flow(stage.app, read_flow({"steps": list(steps)}, syntax="json")).document
    )


def drafts(stage: Stage, diagram: Diagram) -> list[Any]:
    async def collect() -> list[Any]:
        return [outcome async for _, outcome in draft_each(stage.app, diagram)]

    return finish(collect())


def test_a_run_drafts_the_swap_and_then_the_transfer_of_its_minimum(stage: Stage) -> None:
    running = stage.run(flow(stage, swap(), send()))

    assert [(draft.tx_type, draft.tx) for draft in running.drafts] == [
        ("swap", SWAP_TX),
        ("xTransfer", SEND_TX),
    ]
    assert running.drafts[1].human == "900 HDX"
    assert running.failure == ""
    assert running.lines[-1].startswith(
        "Warning: this transaction uses the minimum received of the swap in"
    )


def test_the_same_drafts_are_in_the_full_scenario(stage: Stage) -> None:
    diagram = flow(stage, swap(), send())
    first, second = drafts(stage, diagram)
    alone = finish(draft_first(stage.app, diagram, step=2))

    assert (first.after, second.after) == ((), (first.node,))
    assert second.transaction.call_data.hex() == SEND_TX.removeprefix("0xac04")
    assert alone.transaction == second.transaction
    assert "Submit it only after that swap is in a block" in second.transaction.warnings[-1]
    assert not any("Submit it only after" in warning for warning in first.transaction.warnings)


def test_the_last_of_three_alone_is_drafted_with_what_the_first_gives(stage: Stage) -> None:
    back = {
        "assetin": "HDX",
        "assetout": "DOT",
        "min_received": 1,
        "amount": "{{ sold.min_received }}",
    }
    steps = (
        swap(id="sold"),
        swap(id="back", **back),
        send("{{ back.min_received }}", assetid="DOT"),
    )

    sent = finish(draft_first(stage.app, flow(stage, *steps), step=3))

    assert (sent.raw_amount, len(sent.after)) == (10**10, 2)


def test_a_flow_with_a_minimum_has_no_problems(stage: Stage) -> None:
    assert finish(find_problems(stage.app, flow(stage, swap(), send()))) == ()


def test_a_swap_is_named_by_its_id(stage: Stage) -> None:
    steps = (swap(id="sold"), swap(amount=3, min_received=7), send("{{ sold.min_received }}"))
    first, other, sent = drafts(stage, flow(stage, *steps))

    assert sent.raw_amount == LEAST
    assert sent.after == (first.node,) != (other.node,)


def test_without_an_id_the_latest_swap_counts(stage: Stage) -> None:
    _, other, sent = drafts(stage, flow(stage, swap(), swap(amount=3, min_received=7), send()))

    assert (sent.raw_amount, sent.after) == (7 * 10**12, (other.node,))


def test_the_swap_before_the_latest_does_not_count_if_that_one_fails(stage: Stage) -> None:
    steps = flow(stage, swap(), swap(min_received=None), send(), send("5"))

    first, *failed, beside = drafts(stage, steps)

    assert (first.raw_amount, beside.raw_amount) == (2 * 10**10, 5 * 10**12)
    assert str(failed[1]) == says("source.amount", "swap.min_received")


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"assetid": "DOT"}, ("HDX", "DOT")),
        ({"source_chain": "assetHub", "dest_chain": "assetHub", "assetid": "DOT"}, ("HDX", "DOT")),
    ],
)
def test_an_amount_of_another_asset_is_refused(
    stage: Stage, keys: dict[str, str], told: tuple[str, ...]
) -> None:
    """900 HDX is not 900 DOT."""
    diagram = flow(stage, swap(), send(**keys))
    first, refused = drafts(stage, diagram)
    running = stage.run(diagram)

    assert str(refused) == says(*told, swap=first.node)
    assert [str(problem.sentence) for problem in finish(find_problems(stage.app, diagram))] == [
        says(*told, swap=first.node)
    ]
    assert [draft.spec_version is None for draft in running.drafts] == [False, True]
    with pytest.raises(InvalidRequest) as batch:
        finish(draft_together(stage.app, diagram))
    assert str(batch.value).endswith(str(refused))


def test_a_swap_of_another_asset_than_the_swap_brings_is_refused(stage: Stage) -> None:
    back = {
        "assetin": "10",
        "assetout": "DOT",
        "min_received": 1,
        "amount": "{{ swap.min_received }}",
    }
    first, refused = drafts(stage, flow(stage, swap(), swap(**back)))

    assert str(refused) == says("HDX", "USDT", swap=first.node)


def test_a_field_that_a_swap_does_not_have_is_refused(stage: Stage) -> None:
    found = [
        str(error)
        for _, error in unfillable_fields(flow(stage, swap(), send("{{ swap.received }}")))
    ]

    assert found == [says("source.amount", "swap.received", "min_received")]


def test_a_run_skips_the_transfer_of_a_swap_that_failed(stage: Stage) -> None:
    """Offline there is no quote, so that a swap without a minimum can't be drafted."""
    running = stage.run(flow(stage, swap(min_received=None), send(), send("5")))

    assert [
        (draft.tx_type, draft.spec_version is None, draft.amount) for draft in running.drafts
    ] == [
        ("swap", True, "20000000000"),
        ("xTransfer", True, "0"),
        ("xTransfer", False, "5000000000000"),
    ]
    assert "was skipped because" in running.lines[1]
    assert "without a minimum received needs a quote from Hydration" in running.failure


@pytest.mark.parametrize("place", [0, 2])
def test_after_a_wait_the_latest_swap_is_the_one_that_ran_last(stage: Stage, place: int) -> None:
    other = swap(assetin="HDX", assetout="DOT", min_received=7)
    drawn = flow(stage, swap(), other, {"type": "delay", "seconds": 5}, send(assetid="DOT"))
    names = [node.id for node in drawn.in_order() if node.id.startswith("action")]
    nodes = list(drawn.document["nodes"])
    # The diagram may list the second swap before the first one.
    second = next(each for each in nodes if each["id"] == names[1])
    nodes.remove(second)
    nodes.insert(place, second)

    running = stage.run(read_diagram({**drawn.document, "nodes": nodes}))

    assert running.failure == ""
    assert running.drafts[-1].human == "7 DOT"
    assert names[1] in running.lines[-1]


def test_a_batch_does_both_with_one_signature(stage: Stage) -> None:
    batch, _ = finish(draft_together(stage.app, flow(stage, swap(), send())))

    # Utility.batch_all (13, 2) of two calls.
    assert batch.call_data.hex() == "0d0208" + SWAP_TX.removeprefix(
        "0xac04"
    ) + SEND_TX.removeprefix("0xac04")
    assert not any("Submit it only after" in warning for warning in batch.warnings)
