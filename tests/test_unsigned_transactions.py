"""`tx payload` of a scenario and of a job's draft: whose chain nobody retypes, and what may not be
signed."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.config import Settings
from scenarioctl.errors import Conflict, InvalidRequest, NotFound, ScenarioctlError
from scenarioctl.operations.creation import CreateRemark, create_remark
from scenarioctl.operations.jobs import RunJob, run_job
from scenarioctl.operations.payload import SigningPayloads, TransactionPayload, transaction_payload
from scenarioctl.operations.scenarios import ImportScenario, import_scenario
from tests.conftest import BOB, DATA, Run
from tests.messages import Says, raises, says
from tests.runner import finish
from tests.runtimes import bundled

SIGNER: dict[str, Any] = {"sender": BOB, "nonce": 0}
LINE = ("--sender", BOB, "--nonce", "0", "--block", "64", "--block-hash", "0x" + 64 * "1")


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Application]:
    made = Application(
        Settings(
            config=tmp_path / "c", store=str(tmp_path / "s"), cache=tmp_path / "r", offline=True
        )
    )
    yield made
    finish(made.close())


def payload(app: Application, **fields: Any) -> SigningPayloads:
    return finish(transaction_payload(app, TransactionPayload(**{**SIGNER, **fields}))).answer


def remark(app: Application, text: str = "hello") -> str:
    return finish(create_remark(app, CreateRemark(chain="polkadot", text=text))).answer["result"]


def several(app: Application) -> str:
    text = (DATA / "diagrams" / "calls_by_key.json").read_text()
    return finish(import_scenario(app, ImportScenario(url=text))).answer["shortUrl"]


def test_a_payload_says_what_is_signed(app: Application) -> None:
    answer = payload(app, tx="0x00071468656c6c6f", chain="polkadot")

    assert answer["says"] == says("hello", "Polkadot")


def test_the_transaction_of_a_scenario_needs_no_chain(app: Application) -> None:
    id = several(app)

    first, second = payload(app, scenario=id), payload(app, scenario=id, step=2)

    assert (first["chain"], second["chain"]) == ("polkadot", "assetHub")
    assert first == payload(app, tx="0x00001468656c6c6f", chain="polkadot")
    assert first == payload(app, scenario=id, step="chainTx_j00001")


def test_a_draft_of_a_job_is_found_by_its_number(app: Application) -> None:
    id = remark(app)
    for _ in range(2):
        finish(run_job(app, RunJob(id=id)))
    seqs = [entry.seq for entry in finish(app.store.read_mempool(id))]

    first, newest = payload(app, job=id, draft=seqs[0]), payload(app, job=id)

    assert first == newest == payload(app, tx="0x00071468656c6c6f", chain="polkadot")
    with raises(NotFound, says("draft 3", "mempool", id=id)):
        payload(app, job=id, draft=max(seqs) + 1)


def keep(app: Application, id: str, **changes: Any) -> int:
    """Store a draft that differs from that of a run; return its number."""
    finish(run_job(app, RunJob(id=id)))
    (entry, *_) = finish(app.store.read_mempool(id))
    store: Any = app.store
    draft = replace(entry.draft, **changes)

    async def read(_: str, *, after: int = 0, limit: int = 0) -> list[Any]:
        return [replace(entry, draft=draft)]

    store.read_mempool = read
    return entry.seq


def refusal(app: Application, **fields: Any) -> tuple[object, str]:
    with pytest.raises(ScenarioctlError) as refused:
        payload(app, **fields)
    return type(refused.value), str(refused.value)


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        (
            {"tx": "Could not generate transaction", "spec_version": None},
            InvalidRequest,
            ("Could not generate",),
        ),
        (
            {"tx": "{}", "tx_type": "ChainQuery", "spec_version": None},
            InvalidRequest,
            ("ChainQuery",),
        ),
        ({"spec_version": 1999999}, Conflict, ("must not be signed", "1999999")),
    ],
)
def test_a_draft_that_must_not_be_signed_is_refused(
    app: Application, changes: dict[str, Any], kind: type[ScenarioctlError], words: tuple[str, ...]
) -> None:
    id = remark(app)
    seq = keep(app, id, **changes)

    assert refusal(app, job=id, draft=seq) == (kind, says(f"draft {seq}", *words, id=id))


def test_a_flagged_draft_is_refused_with_the_reason(app: Application) -> None:
    id = remark(app)
    finish(run_job(app, RunJob(id=id)))
    finish(app.store.flag_drafts({1: "polkadot 3000000 has no such call"}, now=1, lines={}))

    assert refusal(app, job=id) == (
        Conflict,
        says("draft 1", "must not be signed", "no such call", id=id),
    )


def test_an_expired_draft_is_a_warning(app: Application) -> None:
    id = remark(app)
    finish(run_job(app, RunJob(id=id)))
    (entry,) = finish(app.store.read_mempool(id))
    assert entry.draft.expires is not None
    expires = entry.draft.expires
    app.clock = lambda: expires

    result = finish(transaction_payload(app, TransactionPayload(job=id, era="immortal", **SIGNER)))

    (warning,) = [each for each in result.warnings if "expired" in each]
    date = warning.partition(" at ")[2].partition(";")[0]
    assert warning == says("draft 1", "draft it again", id=id, date=date)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, says("tx", "scenario", "job")),
        ({"tx": "0x000000"}, says("chain", "tx")),
        ({"scenario": "x", "job": "y"}, says("scenario", "job", "one")),
        ({"tx": "0x000000", "chain": "polkadot", "step": 2}, says("step", "2", "scenario")),
    ],
)
def test_fields_that_contradict_each_other_are_refused(
    app: Application, fields: dict[str, Any], sentence: Says
) -> None:
    kind, refused = refusal(app, **fields)

    assert kind is InvalidRequest
    assert refused == sentence


def test_a_line_takes_hex_a_scenario_or_a_job(scenarioctl: Run) -> None:
    id = scenarioctl("create", "remark", "--chain", "polkadot", "--text", "hello").out.strip()
    scenarioctl("--offline", "job", "run", id)
    lines = (
        ("0x00071468656c6c6f", "--chain", "polkadot"),
        (id,),
        ("--scenario", id),
        (id, "--step", "1"),
        ("--job", id),
        ("--job", id, "--draft", "1"),
    )

    ended = [
        scenarioctl("--offline", "tx", "payload", *line, *LINE, "--field", "payload")
        for line in lines
    ]

    assert {each.out for each in ended} == {ended[0].out}
    assert {each.code for each in ended} == {0}
    assert ended[1].err == says("What it does", "hello", "Polkadot")
    assert scenarioctl("--offline", "tx", "payload", id, *LINE, "--json", "--quiet").err == ""


def test_a_draft_for_an_older_runtime_is_signed_if_it_means_the_same(
    app: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = remark(app)
    seq = keep(app, id, spec_version=1999999)
    monkeypatch.setattr(app, "older_runtime", lambda *_: bundled("polkadot"))

    assert payload(app, job=id, draft=seq)["says"] == says("hello")
