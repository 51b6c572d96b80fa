"""Accounts of the address book that others act for: multisigs, and accounts that have proxies."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from scenarioctl.application import Application
from scenarioctl.chains.addresses import format_account, parse_any_account
from scenarioctl.errors import InvalidRequest, NotFound, shorten
from scenarioctl.model.acting import (
    DEEPEST,
    Acting,
    Layer,
    MultisigLayer,
    NamedAddress,
    ProxyLayer,
    multisig,
    read_acting,
)
from scenarioctl.model.request_fields import normalized

#: What runtimes call a type of proxy.
_TYPE = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,59}")
#: The prefix by which an account is written that was computed here: that of Polkadot, which every
#: wallet reads.
_PREFIX = 0


async def find_acting(app: Application, given: object, *, field: str) -> Acting:
    """Return who acts for the account *given*: its name in the address book, or what a scenario
    keeps.

    NotFound if the book has no such account, InvalidRequest if nobody acts for it.
    """
    if not isinstance(given, str):
        return read_acting(given, field=field)
    name = normalized(given)
    book = await app.store.addresses().list()
    entry = next((each for each in book if name in (each.name, each.address, each.account)), None)
    if entry is not None and entry.layers:
        return read_acting({"name": entry.name, "layers": entry.layers}, field=field)
    if entry is not None:
        raise InvalidRequest(
            field=field,
            value=given,
            problem="is an account that signs for itself",
            expected="a multisig or an account with proxies; pass this one as sender",
        )
    known = [each.name for each in book if each.layers]
    raise NotFound(
        field=field,
        value=given,
        problem="is not in the address book as a multisig or an account with proxies",
        known=known or None,
        advice="" if known else "`address add` adds one.",
    )


def read_layers(
    *,
    threshold: int | None,
    signatories: Sequence[str],
    proxy_of: str,
    type: str,
    through: NamedAddress | None,
) -> tuple[Layer, ...]:
    """Return what goes around the calls of a new account of the address book, innermost first;
    nothing if its own key signs.

    InvalidRequest if it is two things at once, or if who acts in between isn't entitled to.
    """
    first: Layer
    if proxy_of:
        if threshold is not None or signatories:
            raise InvalidRequest(
                field="proxy_of", problem="and signatories are both given", expected="only one"
            )
        if type and not _TYPE.fullmatch(type):
            raise InvalidRequest(
                field="type",
                value=type,
                limit=80,
                problem="can't be a type of proxy",
                expected="one like Any or NonTransfer",
            )
        first = ProxyLayer(real=_account(proxy_of, "proxy_of"), type=type)
    elif threshold is not None or signatories:
        if type:
            raise InvalidRequest(field="type", value=type, problem="belongs to proxy_of: omit it")
        if threshold is None:
            raise InvalidRequest(
                field="threshold",
                problem="is missing",
                expected="how many signatories must approve",
            )
        members: dict[bytes, str] = {}
        for each in signatories:
            account = _account(each, "signatories")
            if account in members:
                # Addresses of one key differ by the prefix of their network.
                both = f"{shorten(members[account], 80)} and {shorten(each, 80)}"
                raise InvalidRequest(
                    field="signatories",
                    problem=f"has an account twice: {both}",
                    expected="each once",
                )
            members[account] = each
        first = multisig(list(members), threshold)
    else:
        for field, value in (("type", type), ("through", through)):
            if value:
                raise InvalidRequest(field=field, problem="needs proxy_of or signatories")
        return ()
    if through is None:
        return (first,)
    outer = read_acting({"name": through.name, "layers": through.layers}, field="through").layers
    if isinstance(first, MultisigLayer) and outer[0].account not in first.signatories:
        raise InvalidRequest(
            field="through",
            value=through.name,
            problem="is no signatory of this multisig",
            expected=", ".join(format_account(each, _PREFIX) for each in first.signatories),
        )
    if len(outer) >= DEEPEST:
        raise InvalidRequest(
            field="through",
            value=through.name,
            problem=f"has {len(outer)} layers, the limit is {DEEPEST - 1}",
        )
    return (first, *outer)


def _account(text: str, field: str) -> bytes:
    return parse_any_account(text, field=field)[0]


def write_address(layers: Sequence[Layer]) -> str:
    """Return the address of the account whose calls have *layers* around them."""
    return format_account(layers[0].account, _PREFIX)


def describe_layers(layers: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> str:
    """Return who acts for an account, in words: `2 of Ann, Bob, 14E5…`; *names* are those of
    accounts in 0x hex."""

    def name(account: bytes) -> str:
        return names.get("0x" + account.hex()) or format_account(account, _PREFIX)

    said = []
    for layer in (
        read_acting({"name": "", "layers": layers}, field="layers").layers if layers else ()
    ):
        if isinstance(layer, MultisigLayer):
            said.append(f"{layer.threshold} of {', '.join(map(name, layer.signatories))}")
        else:
            said.append(f"a proxy{f' of the type {layer.type}' if layer.type else ''}")
    return ", through ".join(said)
