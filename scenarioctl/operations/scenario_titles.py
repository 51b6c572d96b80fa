"""What is said of a scenario: its title in lists, and when it was created what was understood, so
that a slip is seen at once."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest, ScenarioctlError
from scenarioctl.operations.stored_diagrams import read_blob
from scenarioctl.stores import StoredScenario

if TYPE_CHECKING:
    from scenarioctl.actions.story import Story
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.diagram import Diagram

#: Nodes of a diagram that is looked through on the event loop.
_NODES_ON_LOOP = 100
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
