"""What is said of a scenario that was created: what was understood, so that a slip is seen at once."""

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest, ScenarioctlError

if TYPE_CHECKING:
    from scenarioctl.actions.headlines import Headline
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.diagram import Diagram

#: Nodes of a diagram that is looked through on the event loop.
_NODES_ON_LOOP = 100
#: Seconds that a chain has to tell whether it has an account.
_PATIENCE = 2.0


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
    from scenarioctl.actions.headlines import headline_of

    headline = headline_of(app, diagram)
    known = ", ".join(filter(None, (_judge_receiver(app, headline), account)))
    return f"{headline.sentence} ({known})" if known else headline.sentence


async def describe_account(app: Application, chain: "Chain", account: bytes) -> str:
    """Return whether *account* exists on a chain that was just asked something else; empty if that is not known."""
    with suppress(ScenarioctlError, TimeoutError):
        async with asyncio.timeout(_PATIENCE):
            row = await app.client(chain).storage("System", "Account", account)
        references = row["providers"] + row["sufficients"] + row["consumers"]
        return "existing account" if references or row["nonce"] else "new account"
    return ""


def _judge_receiver(app: Application, headline: "Headline") -> str:
    """Return what the address of the receiver tells by itself; empty if there is none, or a run fills it in."""
    from scenarioctl.actions.placeholders import has_placeholder

    text = headline.receiver
    if not text or has_placeholder(text) or has_placeholder(headline.receiver_chain):
        return ""
    try:
        account_format = app.registry.find(headline.receiver_chain).account_format
    except InvalidRequest:
        return ""
    try:
        account_format.parse(text, field="address")
    except InvalidRequest:
        return "not a valid address"
    return "valid address" if account_format.has_checksum(text) else "no checksum in this address"
