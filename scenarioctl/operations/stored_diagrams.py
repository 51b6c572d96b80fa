"""Diagrams in the store, with the facts beside them that lists need; and what is said of one."""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from scenarioctl.application import Application
from scenarioctl.errors import Conflict, InvalidRequest, ScenarioctlError
from scenarioctl.formats.documents import canonical_json
from scenarioctl.model.acting import Acting, ProxyLayer
from scenarioctl.model.diagram import (
    ACTING,
    Diagram,
    label_document,
    read_diagram,
    read_name,
    read_tags,
)
from scenarioctl.operations.acting_accounts import find_acting
from scenarioctl.operations.built_transactions import LabelFields
from scenarioctl.stores import StoredScenario
from scenarioctl.stores.validation import check_storable

if TYPE_CHECKING:
    from scenarioctl.actions.flow_files import DrawnFlow
    from scenarioctl.actions.story import Story
    from scenarioctl.chains.registry import Chain


#: Bytes of JSON that are read on the event loop, in a few milliseconds; larger diagrams are read in
#: a thread.
_JSON_ON_LOOP = 64 * 1024
#: Nodes of a diagram that is written, or looked through, on the event loop.
_NODES_ON_LOOP = 100


async def open_scenario(app: Application, scenario_id: str, *, yes: bool = False) -> Diagram:
    """Return the diagram of a stored scenario to draft from; with *yes*, receivers without a
    private key are confirmed in it.

    Payouts that were sent are marked: they aren't drafted again.
    """
    from scenarioctl.actions.transfer import confirm_receivers
    from scenarioctl.operations.payout_records import mark_sent

    diagram = await mark_sent(app, scenario_id, await open_stored(app, scenario_id))
    return confirm_receivers(diagram) if yes else diagram


def warn_of_conditions(diagram: Diagram) -> tuple[str, ...]:
    """Return the warning that what is built of *diagram* doesn't depend on its conditions, if it
    has any."""
    from scenarioctl.actions import find_step

    steps = map(find_step, diagram.nodes)
    if all(step is None or step.name != "condition" for step in steps):
        return ()
    return ("The condition in this scenario was not asked: only a run or a job does that.",)


async def open_stored(app: Application, scenario_id: str) -> Diagram:
    """Return the diagram of a stored scenario as it is."""
    stored = await app.store.get_scenario(scenario_id)
    return await open_blob(app, stored.blob, scenario_id)


async def open_blob(app: Application, blob: bytes, scenario_id: str) -> Diagram:
    """Return the diagram in a stored blob."""
    from scenarioctl.formats.documents import unpacked_size

    if unpacked_size(blob) <= _JSON_ON_LOOP:
        return read_blob(blob, scenario_id)
    return await app.aside(read_blob, blob, scenario_id)


def read_blob(blob: bytes, scenario_id: str) -> Diagram:
    from scenarioctl.formats.documents import unpack

    return read_diagram(unpack(blob), field=f"scenario {scenario_id}")


async def store_document(
    app: Application, document: Mapping[str, Any], diagram: Diagram | None = None
) -> str:
    """Store a diagram that was drawn here, and return its new id; *diagram* is what *document*
    says, if it was read."""
    if len(document["nodes"]) <= _NODES_ON_LOOP:
        scenario = pack_document(app, document, diagram)
    else:
        scenario = await app.aside(pack_document, app, document, diagram)
    return (await store_new(app, scenario))[0]


def read_label(value: object) -> str:
    """Return a name of a scenario, in one line; empty for none."""
    return check_storable(" ".join(read_name(value, field="name").split()), field="name")


def add_labels(app: Application, diagram: Diagram, labels: LabelFields) -> Diagram:
    """Return *diagram* with the name in *labels*, if there is one, with their tags beside its own,
    and made as who *app* acts for."""
    if app.acting is not None:
        diagram = diagram.acted_by(kept_acting(app, app.acting))
    if not (labels.name or labels.tags):
        return diagram
    name, tags = read_label(labels.name), read_tags([*diagram.tags, *labels.tags], field="tags")
    return read_diagram(label_document(diagram.document, name=name or diagram.name, tags=tags))


def kept_acting(app: Application, acting: Acting) -> Acting:
    """Return *acting* as a scenario keeps it: with the signatory who signs, since each of them
    signs something else."""
    if isinstance(acting.layers[-1], ProxyLayer):
        return acting
    if not (signer := app.signer or acting.signer):
        raise InvalidRequest(
            field="sender",
            problem="is missing",
            expected=f"the signatory of {acting.name} who will sign",
        )
    return replace(acting, signer=signer)


def pack_document(
    app: Application, document: Mapping[str, Any], diagram: Diagram | None
) -> StoredScenario:
    return pack_diagram(
        app, canonical_json(document), diagram or read_diagram(document, field="diagram")
    )


def pack_diagram(app: Application, text: bytes, diagram: Diagram) -> StoredScenario:
    """Return *diagram*, whose JSON is *text*, as it is stored; without an id."""
    from scenarioctl.actions.story import chains_of, summarise
    from scenarioctl.actions.webhook import webhooks_of
    from scenarioctl.formats.documents import pack_text

    now = app.clock()
    return StoredScenario(
        id="",
        blob=pack_text(text),
        summary=summarise(diagram, app.registry),
        chains=tuple(sorted(chains_of(diagram, app.registry))),
        webhooks=webhooks_of(diagram),
        created=now,
        updated=now,
        name=diagram.name,
        tags=diagram.tags,
        digest=hashlib.sha256(text).digest()[:16],
    )


async def store_new(
    app: Application, scenario: StoredScenario, *, reuse: bool = False
) -> tuple[str, bool]:
    """Store *scenario* under a new id, and return the id and whether it is new.

    With *reuse*, a scenario of the same text that is stored already is kept, and its id returned.
    """
    for _ in range(8):
        scenario = replace(scenario, id=app.new_id())
        try:
            if reuse:
                id = await app.store.keep_scenario(scenario)
                return id, id == scenario.id
            await app.store.put_scenario(scenario)
        except Conflict:
            continue
        return scenario.id, True
    raise Conflict("no free scenario id in 8 attempts; try again")


async def store_as(app: Application, id: str, scenario: StoredScenario) -> bool:
    """Store *scenario* under *id*, and return whether it is new there; Conflict if another diagram
    has that id."""
    try:
        await app.store.put_scenario(replace(scenario, id=id))
    except Conflict:
        stored = (await app.store.find_scenarios([id])).get(id)
        if stored is None:
            raise
        # In any order of keys.
        if await app.aside(_same_diagram, stored, scenario):
            return False
        raise Conflict(
            field="scenario",
            value=id,
            problem=(
                "is already stored with another diagram. Delete it, or import this diagram "
                "without an id."
            ),
        ) from None
    return True


def _same_diagram(first: StoredScenario, second: StoredScenario) -> bool:
    from scenarioctl.formats.documents import unpack

    documents = [unpack(each.blob) for each in (first, second)]
    return bool(documents[0] == documents[1])


#: Characters of a flow file that is read on the event loop; a longer one is read aside.
_AT_ONCE = 16 * 1024


@dataclass(frozen=True, kw_only=True)
class OpenedFlow:
    """A flow file that can be stored."""

    drawn: "DrawnFlow"
    diagram: Diagram
    #: Of the transactions that can be drafted now: what they always have, whoever runs them.
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


#: Said of a transfer that was created by a check.
ONLY_CHECKED = (
    "only a check opens this transfer: take its transaction from tx check, since no job can "
    "draft it"
)


async def open_flow(
    app: Application, content: object, *, syntax: str, checked: bool = False
) -> OpenedFlow:
    """Return the flow in *content*, a file's text or its parsed content; InvalidRequest names the
    invalid step and key.

    A flow whose transactions are *checked* next may have transfers that only a check opens.
    """
    from scenarioctl.actions.flow_files import draw_flow, read_flow
    from scenarioctl.actions.problems import judge

    def draw() -> "tuple[DrawnFlow, Diagram]":
        drawn = draw_flow(app, read_flow(content, syntax=syntax))
        return drawn, read_diagram(drawn.document)

    is_small = isinstance(content, str) and len(content) <= _AT_ONCE
    drawn, diagram = draw() if is_small else await app.aside(draw)
    if (named := diagram.document.get(ACTING)) is not None:
        acting = await find_acting(app, named, field="flow.as")
        diagram = diagram.acted_by(kept_acting(app, acting))
    problems, drafted = await judge(app.unconnected(), diagram)
    opening = [problem for problem in problems if checked and problem.opens_by_check]
    for problem in problems:
        # What a webhook will fill, or a chain has to be asked for, is judged when it runs.
        if problem.is_mistake and problem not in opening:
            raise drawn.explain(problem.node, problem.error)
    return OpenedFlow(
        drawn=drawn,
        diagram=diagram,
        # Each run drafts anew, with notes and warnings of its own.
        notes=(
            *(f"{drawn.place(node)}: {note}" for node, made in drafted for note in made.notes),
            *(f"{drawn.place(problem.node)}: {ONLY_CHECKED}" for problem in opening),
        ),
        warnings=tuple(
            f"{drawn.place(node)}: {said}" for node, made in drafted for said in made.warnings
        ),
    )


#: Seconds that a chain has to tell whether it has an account.
_PATIENCE = 2.0
#: Bytes of a compressed diagram above which its summary is its title: reading all steps for one
#: line takes too long.
LARGE = 64 * 1024


class Title(NamedTuple):
    #: `1.5 DOT · Polkadot → Asset Hub`.
    text: str
    #: As the scenario has it; empty if nobody receives something.
    receiver: str = ""
    name: str = ""


async def titles_of(app: Application, ids: Sequence[str]) -> dict[str, Title]:
    """Return the titles of those scenarios that are stored."""
    stored = await app.store.find_scenarios(ids)
    return await app.aside(_read_titles, app, stored)


def _read_titles(app: Application, stored: Mapping[str, StoredScenario]) -> dict[str, Title]:
    return {id: _title_of(app, scenario) for id, scenario in stored.items()}


def _title_of(app: Application, scenario: StoredScenario) -> Title:
    from scenarioctl.actions.story import tell_scenario

    title = Title(scenario.summary, name=scenario.name)
    if len(scenario.blob) > LARGE:
        return title
    try:
        story = tell_scenario(app, read_blob(scenario.blob, scenario.id))
    except ScenarioctlError:
        # A list shows a scenario that cannot be read, too.
        return title
    return Title(story.title, story.receiver, scenario.name)


async def note_created(app: Application, id: str, diagram: "Diagram", *, account: str = "") -> str:
    """Return what was created under *id*; *account* is what is known of the receiver's account."""
    if len(diagram.nodes) <= _NODES_ON_LOOP:
        understood = understand(app, diagram, account=account)
    else:
        understood = await app.aside(understand, app, diagram)
    return created(id, understood)


def created(id: str, understood: str) -> str:
    return f"Created {id}: {understood}"


def understand(app: Application, diagram: "Diagram", *, account: str = "") -> str:
    """Return what *diagram* does, with what is known of its receiver."""
    from scenarioctl.actions.story import tell_scenario

    story = tell_scenario(app, diagram)
    known = ", ".join(filter(None, (_judge_receiver(app, story), account)))
    return f"{story.announcement} ({known})" if known else story.announcement


async def describe_account(app: Application, chain: "Chain", account: bytes) -> str:
    """Return whether *account* exists on a chain that was just asked something else; empty if that
    is not known."""
    with suppress(ScenarioctlError, TimeoutError):
        async with asyncio.timeout(_PATIENCE):
            row = await app.client(chain).storage("System", "Account", account)
        references = row["providers"] + row["sufficients"] + row["consumers"]
        return "existing account" if references or row["nonce"] else "new account"
    return ""


def _judge_receiver(app: Application, story: "Story") -> str:
    """Return what the address of the receiver tells by itself; empty if there is none, or a run
    fills it in."""
    from scenarioctl.actions.placeholders import has_placeholder
    from scenarioctl.transactions.keyless_accounts import (
        describe_keyless,
        kind_of,
        parse_receiver,
    )

    text = story.receiver
    if not text or has_placeholder(text) or has_placeholder(story.chains[-1].literal):
        return ""
    try:
        chain = app.registry.find(story.chains[-1].literal)
    except InvalidRequest:
        return ""
    try:
        account = parse_receiver(text, chain, field="address")
    except InvalidRequest:
        return "not a valid address"
    if describe_keyless(account, chain):
        return kind_of(account).words
    has_checksum = chain.account_format.has_checksum(text)
    return "valid address" if has_checksum else "no checksum in this address"
