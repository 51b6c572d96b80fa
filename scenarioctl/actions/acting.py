"""Make a call as another account: what its signer may do is read from the chain, and what they sign
goes around the call."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.addresses import format_account
from scenarioctl.errors import ChainRefused, ChainUnreachable, Conflict, InvalidRequest, shorten
from scenarioctl.model.acting import MultisigLayer, ProxyLayer
from scenarioctl.model.calls import ActedCall
from scenarioctl.transactions.call_builder import multisig_call, proxy_call

if TYPE_CHECKING:
    from scenarioctl.application import Application
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.acting import Acting
    from scenarioctl.model.calls import Call
    from scenarioctl.runtime.table import RuntimeTable

#: What the weight of a call is allowed to grow until it runs, in per cent: a block's state is never
#: quite the next one's.
WEIGHT_MARGIN = 10
#: Accounts that an error lists.
_LISTED = 12
#: What a proxy is told whose type doesn't let the call through.
_FILTERED = "System.CallFiltered"


async def act(
    app: "Application", acting: "Acting", chain: "Chain", table: "RuntimeTable", call: "Call"
) -> ActedCall:
    """Return what the signer of *acting* sends to *chain*, so that its account makes *call*.

    With a connection the signer's rights and the state of the operation are read. InvalidRequest if
    the signer has no such right, Conflict if they approved already.
    """
    account = format_account(acting.account, chain.ss58_prefix)
    said = [f"It is made as {account if acting.name == account else f'{acting.name}, {account}'}."]
    warned: list[str] = []
    name = acting.name
    for place, layer in enumerate(acting.layers):
        _check_length(chain, acting, layer.account)
        outer = acting.layers[place + 1].account if place + 1 < len(acting.layers) else None
        if outer is None and (signer := app.signer or acting.signer):
            outer = chain.account_format.parse(signer, field="sender")
        if isinstance(layer, ProxyLayer):
            if app.settings.offline:
                call = proxy_call(call, layer, table)
            else:
                call = await _proxied(app, "" if place else name, chain, table, layer, call, outer)
            continue
        name = name or format_account(layer.account, chain.ss58_prefix)
        signatory = require_signatory(name, layer, chain, outer)
        opened = (
            None if app.settings.offline else await read_operation(app, chain, table, layer, call)
        )
        payer = (
            "the signer"
            if layer is acting.layers[-1]
            else format_account(signatory, chain.ss58_prefix)
        )
        made = await approve(app, name, chain, table, layer, signatory, call, opened, payer=payer)
        call, said, warned = made.call, [*said, *made.notes], [*warned, *made.warnings]
        # A multisig that is a signatory of this one is another account.
        name = ""
    return ActedCall(call=call, notes=tuple(said), warnings=tuple(warned))


def _check_length(chain: "Chain", acting: "Acting", account: bytes) -> None:
    if len(account) != chain.account_format.length:
        raise InvalidRequest(
            field="as",
            value=acting.name,
            problem=(
                f"has accounts of {len(account)} bytes, and {chain.title} has accounts of "
                f"{chain.account_format.length}"
            ),
            expected="an account of that chain",
        )


def _listed(chain: "Chain", accounts: "tuple[bytes, ...] | list[bytes]") -> str:
    shown = ", ".join(format_account(each, chain.ss58_prefix) for each in accounts[:_LISTED])
    return f"{shown}, …" if len(accounts) > _LISTED else shown


def require_signatory(
    name: str, layer: MultisigLayer, chain: "Chain", signer: bytes | None
) -> bytes:
    """Return who makes the call of the multisig of that *name*: *signer*, who must be one of its
    signatories."""
    expected = f"a signatory of {name}: {_listed(chain, layer.signatories)}"
    if signer is None:
        raise InvalidRequest(field="sender", problem="is missing", expected=expected)
    if signer not in layer.signatories:
        raise InvalidRequest(
            field="sender",
            value=format_account(signer, chain.ss58_prefix),
            limit=60,
            problem="is no signatory",
            expected=expected,
        )
    return signer


async def _proxied(
    app: "Application",
    name: str,
    chain: "Chain",
    table: "RuntimeTable",
    layer: ProxyLayer,
    call: "Call",
    outer: bytes | None,
) -> "Call":
    """Return what a proxy signs so that *layer* makes *call*; InvalidRequest if the chain knows
    none that may.

    Without a type, the chain takes the first of those that a proxy has. Of several, one is named
    that lets the call through.
    """
    held, _ = await app.client(chain).storage("Proxy", "Proxies", layer.real)
    mine = _proxies_of(held, name, chain, layer, outer)
    if outer is None:
        return proxy_call(call, layer, table)
    undelayed = [place for place, each in enumerate(mine) if not each["delay"]]
    for place in undelayed:
        typed = layer if place == 0 else replace(layer, type=str(mine[place]["proxy_type"]))
        proxied = proxy_call(call, typed, table)
        if not await _is_filtered(app, chain, proxied, outer):
            return proxied
    kinds = " or ".join(dict.fromkeys(str(mine[place]["proxy_type"]) for place in undelayed))
    raise InvalidRequest(
        field="as",
        problem=(
            f": a proxy of the type {kinds} may not make this call on {chain.title} ({_FILTERED})"
        ),
    )


def _proxies_of(
    held: "Sequence[Mapping[str, Any]]",
    name: str,
    chain: "Chain",
    layer: ProxyLayer,
    outer: bytes | None,
) -> "list[Mapping[str, Any]]":
    """Return those of the proxies *held* that are meant, in the chain's order; InvalidRequest if
    none can be used."""
    wanted = layer.type.lower()
    typed = [each for each in held if not wanted or str(each["proxy_type"]).lower() == wanted]
    mine = [each for each in typed if outer is None or each["delegate"] == outer]
    account = format_account(layer.real, chain.ss58_prefix)
    whose = f"{f'{name} ({account})' if name else account} on {chain.title}"
    if not mine:
        given = [
            f"{format_account(each['delegate'], chain.ss58_prefix)} ({each['proxy_type']})"
            for each in held
        ]
        who = "nobody" if outer is None else format_account(outer, chain.ss58_prefix)
        kind = f" of the type {layer.type}" if layer.type else ""
        raise InvalidRequest(
            field="sender" if outer is not None else "as",
            problem=f": {who} is no proxy{kind} of {whose}",
            expected=f"one of its proxies: {', '.join(given[:_LISTED]) or 'it has none'}",
        )
    if all(each["delay"] for each in mine):
        raise InvalidRequest(
            field="as",
            problem=(
                f": the proxy of {whose} has to announce each call {mine[0]['delay']} blocks "
                "before it runs, which is not drafted here"
            ),
            expected="a proxy without a delay",
        )
    return mine


async def _is_filtered(app: "Application", chain: "Chain", call: "Call", outer: bytes) -> bool:
    """Tell whether the filter of a proxy's type refuses *call*, as a dry run says; a chain without
    one says nothing."""
    from scenarioctl.transactions.blocks import explain_dispatch_error
    from scenarioctl.transactions.simulation.dry_run import try_call

    tried = await try_call(app.client, app.registry, chain, call, outer)
    table = await app.client(chain).table()
    for event in tried.events:
        if str(event) != "Proxy.ProxyExecuted" or not isinstance(event.fields, Mapping):
            continue
        result = event.fields.get("result")
        if (
            isinstance(result, Mapping)
            and "Err" in result
            and explain_dispatch_error(table, result["Err"]) == _FILTERED
        ):
            return True
    return False


@dataclass(frozen=True, kw_only=True)
class OpenOperation:
    """A call that a multisig has begun to approve."""

    call_hash: bytes
    #: Of the extrinsic that opened it: `height` and `index`.
    when: Mapping[str, Any]
    #: Raw, in the native asset, held from the depositor.
    deposit: int
    depositor: bytes
    approvals: tuple[bytes, ...]

    @classmethod
    def read(cls, call_hash: bytes, row: Mapping[str, Any]) -> "OpenOperation":
        """Return the operation in *row*, an entry of Multisig.Multisigs."""
        return cls(
            call_hash=call_hash,
            when=row["when"],
            deposit=int(row["deposit"]),
            depositor=row["depositor"],
            approvals=tuple(row["approvals"]),
        )


async def read_operation(
    app: "Application", chain: "Chain", table: "RuntimeTable", layer: MultisigLayer, call: "Call"
) -> OpenOperation | None:
    """Return the operation of *call* that is open on *chain*; None if there is none."""
    call_hash = hash_call(table, call)
    row = await app.client(chain).storage("Multisig", "Multisigs", layer.account, call_hash)
    return None if row is None else OpenOperation.read(call_hash, row)


def hash_call(table: "RuntimeTable", call: "Call") -> bytes:
    """Return the hash by which a multisig knows *call*."""
    return blake2b(table.encode_call(call), digest_size=32).digest()


async def approve(
    app: "Application",
    name: str,
    chain: "Chain",
    table: "RuntimeTable",
    layer: MultisigLayer,
    signatory: bytes,
    call: "Call",
    opened: OpenOperation | None,
    *,
    payer: str = "the signer",
) -> ActedCall:
    """Return what *signatory* signs to open the operation of *call*, to approve it, or to run it
    with the last approval.

    *name* is that of the multisig, and *payer* says from whom a deposit is held.
    """
    if layer.threshold == 1:
        return ActedCall(call=multisig_call(call, layer, signatory, table))
    if opened is None:
        left = layer.threshold - 1
        note = (
            f"It opens an operation of {name}: {left} more of its signatories must approve it "
            f"before it runs, and until then {_deposit(app, chain, table, layer)} is held from "
            f"{payer}."
        )
        unread = (
            f"Offline nobody tells whether {name} has this operation open already; if it has, "
            "this fails."
        )
        return ActedCall(
            call=multisig_call(call, layer, signatory, table),
            notes=(note,),
            warnings=(unread,) if app.settings.offline else (),
        )
    approvals = {*opened.approvals, signatory}
    if len(approvals) < layer.threshold:
        refuse_again(name, chain, layer, signatory, opened)
        left = layer.threshold - len(approvals)
        return ActedCall(
            call=multisig_call(call, layer, signatory, table, timepoint=opened.when),
            notes=(
                (
                    f"It approves an open operation of {name}: {left} more must approve it "
                    "before it runs."
                ),
            ),
        )
    weight = await _weigh(app, chain, call, layer.account)
    note = (
        f"With it enough of {name} have approved, and the call runs. Its weight may be "
        f"{WEIGHT_MARGIN} % more than the chain says now."
    )
    return ActedCall(
        call=multisig_call(call, layer, signatory, table, timepoint=opened.when, weight=weight),
        notes=(note,),
    )


def refuse_again(
    name: str, chain: "Chain", layer: MultisigLayer, signatory: bytes, opened: OpenOperation
) -> None:
    """Refuse another approval of a *signatory* who has approved the operation of the multisig of
    that *name*."""
    if signatory in opened.approvals:
        raise Conflict(
            f"{format_account(signatory, chain.ss58_prefix)} has approved this operation "
            f"of {name} already: {len(opened.approvals)} of {layer.threshold} have"
        )


def _deposit(
    app: "Application", chain: "Chain", table: "RuntimeTable", layer: MultisigLayer
) -> str:
    try:
        base, each = (
            int(table.constant("Multisig", name)) for name in ("DepositBase", "DepositFactor")
        )
    except InvalidRequest:
        return "a deposit"
    return f"a deposit of {app.assets.native(chain).amount(base + each * layer.threshold)}"


async def _weigh(
    app: "Application", chain: "Chain", call: "Call", account: bytes
) -> dict[str, int]:
    """Return what *call* may weigh: what the chain says now, and a margin. Source: the call's own
    dispatch info."""
    from scenarioctl.transactions.simulation.costs import dispatch_info
    from scenarioctl.transactions.simulation.runtime_api import Inconclusive

    try:
        info = await dispatch_info(app.client(chain), call, account)
    except Inconclusive as problem:
        raise ChainUnreachable(
            f"what the call weighs is unknown, so it can't be run: {shorten(problem, 300)}"
        ) from None
    weight = info["weight"]
    if not isinstance(weight, Mapping):
        raise ChainRefused(f"{chain.title} told no weight of the call")
    return {name: int(value) * (100 + WEIGHT_MARGIN) // 100 for name, value in weight.items()}
