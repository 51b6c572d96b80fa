"""What a simulation asks a chain, and the findings from which the verdict is drawn.

What a chain does not answer is `Inconclusive`, and never taken for a yes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from scenarioctl.chains.assets import NATIVE_DEPOSIT
from scenarioctl.chains.locations import seen_from
from scenarioctl.chains.rpc_errors import NodeError
from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest
from scenarioctl.model.checks import Amount, Holding, Step
from scenarioctl.transactions.balances import (
    NativeBalance,
    account_entry,
    deposit_of,
    details_entry,
)

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.chains.client import Client
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.json_types import Verdict
    from scenarioctl.runtime.table import RuntimeTable


@dataclass(kw_only=True)
class Findings:
    """What is known of one transaction; refusals outweigh open questions, and those an ok."""

    steps: list[Step] = field(default_factory=list)
    #: Why it does not do what its sender wants.
    refusals: list[str] = field(default_factory=list)
    #: What no chain could prove.
    unknowns: list[str] = field(default_factory=list)
    #: Those of them that tell what may run instead of what was tried: told whatever the verdict.
    branches: list[str] = field(default_factory=list)
    #: Who may act for the signer, spend or unlock from now on.
    rights: list[str] = field(default_factory=list)
    #: What the signer, or a receiver, has no longer or can't spend.
    losses: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    #: What leaves accounts other than the chains' own, and what accounts get, on every chain.
    leaves: list[Holding] = field(default_factory=list)
    credits: list[Holding] = field(default_factory=list)
    #: What should arrive in the end, and what is credited there by the dry run.
    computed: Amount | None = None
    credited: Amount | None = None

    @property
    def told(self) -> tuple[str, ...]:
        """All that the signer should know, in the order of danger."""
        branches = self.branches if self.refusals else ()
        return tuple(dict.fromkeys((*self.rights, *branches, *self.losses, *self.warnings)))

    def add(self, other: "Findings", *, when: str) -> None:
        """Take over what *other* says of what a multisig, its sender, does *when* all approve."""
        for name in ("refusals", "unknowns", "branches", "rights", "losses", "warnings"):
            getattr(self, name).extend(f"{when}: {said}" for said in getattr(other, name))
        for own, more in ((self.leaves, other.leaves), (self.credits, other.credits)):
            own += [
                replace(each, role="the multisig") if each.role == "the sender" else each
                for each in more
            ]

    @property
    def verdict(self) -> "Verdict":
        return "refused" if self.refusals else "unknown" if self.unknowns else "ok"

    @property
    def reasons(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.refusals or self.unknowns))

    def add_step(
        self, chain: "Chain", what: str, asset: "Asset", value: int, *, at_most: bool = False
    ) -> None:
        amount = amount_of(asset, value)
        self.steps.append(Step(chain=chain.name, what=what, amount=amount, at_most=at_most))

    def lose(self, chain: "Chain", what: str, amount: Amount, sentence: str) -> None:
        """Add a loss to the steps, and its *sentence* to what is told."""
        self.steps.append(Step(chain=chain.name, what=what, amount=amount))
        self.losses.append(sentence)


def amount_of(asset: "Asset", value: int) -> Amount:
    """Return *value* smallest units of *asset*, as it is printed."""
    return Amount(value=value, asset=asset.display_name, decimals=asset.decimals)


def asset_at(assets: "Assets", chain: "Chain", identity: str) -> "Asset | None":
    """Return the asset of *chain* that lives at *identity*, an absolute location; None where none
    is listed."""
    return assets.at(chain, seen_from(identity, chain.para_id))


def amount_at(assets: "Assets", chain: "Chain", identity: str, value: int) -> Amount:
    """Return *value* smallest units of what lives at *identity*, as it is printed on *chain*."""
    asset = asset_at(assets, chain, identity)
    if asset is None:
        return Amount(value=value, asset=seen_from(identity, chain.para_id))
    return amount_of(asset, value)


#: How a chain is asked: `app.client`.
Clients = Callable[["Chain"], "Client"]


class Inconclusive(Exception):
    """A question that a chain did not answer, in a sentence."""


class Encoded(bytes):
    """An argument that is SCALE already, and goes to the runtime as it stands."""


async def query_runtime_api(
    client: "Client", api: str, method: str, *arguments: Any, newer: Sequence[Any] = ()
) -> Any:
    """Return the decoded answer of a runtime API; Inconclusive says why there is none.

    Only *newer* versions of the API are given the arguments of that name too.
    """
    chain = client.chain.title
    table = await read_table(client)
    try:
        described = table.api_method(api, method)
    except InvalidRequest:
        raise Inconclusive(f"the runtime {table} of {chain} has no {api}_{method}") from None
    name = f"{described.api}_{described.name}"
    arguments = (*arguments, *newer[: len(described.inputs) - len(arguments)])
    if len(arguments) != len(described.inputs):
        raise Inconclusive(
            f"{name} of {chain} takes {len(described.inputs)} parameters, expected {len(arguments)}"
        )
    try:
        data = b"".join(
            value if isinstance(value, Encoded) else table.encode(field.type_id, value)
            for field, value in zip(described.inputs, arguments, strict=True)
        )
    except InvalidRequest as error:
        raise Inconclusive(f"{name} of {chain} takes parameters of other types: {error}") from None
    try:
        return await client.raw_runtime_call(name, data, described.output_type)
    except NodeError as error:
        raise Inconclusive(
            f"{name} of {chain} failed on the node: {error.message} ({error.number})"
        ) from None
    except ChainUnreachable as error:
        raise Inconclusive(str(error)) from None
    except InvalidRequest as error:
        raise Inconclusive(
            f"{name} of {chain} returned an answer that cannot be decoded: {error}"
        ) from None


async def query_runtime_api_result(
    client: "Client", api: str, method: str, *arguments: Any, newer: Sequence[Any] = ()
) -> Any:
    """Return what is in the `Ok` of a runtime API's Result; Inconclusive names what is in its
    `Err`."""
    answer = await query_runtime_api(client, api, method, *arguments, newer=newer)
    if not isinstance(answer, Mapping) or set(answer) not in ({"Ok"}, {"Err"}):
        raise Inconclusive(f"{api}_{method} of {client.chain.title} did not return a Result")
    if "Err" in answer:
        raise Inconclusive(
            f"{api}_{method} of {client.chain.title} returned the error {answer['Err']}"
        )
    return answer["Ok"]


async def read_storage(client: "Client", pallet: str, entry: str, *keys: Any) -> Any:
    """Return a decoded storage entry; Inconclusive says why there is none."""
    try:
        return await client.storage(pallet, entry, *keys)
    except (ChainUnreachable, ChainRefused, InvalidRequest) as error:
        raise Inconclusive(
            f"{pallet}.{entry} of {client.chain.title} could not be read: {error}"
        ) from None


async def read_table(client: "Client") -> "RuntimeTable":
    """Return the runtime's table; Inconclusive if the chain doesn't tell."""
    try:
        return await client.table()
    except (ChainUnreachable, ChainRefused) as error:
        raise Inconclusive(str(error)) from None


async def read_constant(client: "Client", pallet: str, name: str) -> Any:
    """Return a decoded constant of the runtime; Inconclusive says why there is none."""
    try:
        return (await read_table(client)).constant(pallet, name)
    except InvalidRequest as error:
        raise Inconclusive(
            f"{pallet}.{name} of {client.chain.title} could not be read: {error}"
        ) from None


#: Kinds of assets that have accounts of their own, on an Asset Hub.
_OF_HUBS = ("assets", "foreign")


async def native_balance(client: "Client", account: bytes) -> NativeBalance:
    """Return what *account* holds of the native asset; Inconclusive if the chain does not tell."""
    row = await read_storage(client, "System", "Account", account)
    return NativeBalance.read(row, await _native_deposit(client))


async def free_balance(client: "Client", asset: "Asset", account: bytes) -> int:
    """Return what *account* can spend of *asset*, raw; Inconclusive where the chain does not
    tell."""
    if asset.kind == "native":
        return (await native_balance(client, account)).spendable(keep_alive=False)
    if asset.kind not in _OF_HUBS and not asset.id.isdigit():
        raise Inconclusive(f"the balance of {asset.label} on {client.chain.title} can't be read")
    if asset.kind == "erc20":
        # Held by a contract: only the runtime can look into it.
        return int(
            await query_runtime_api(client, "CurrenciesApi", "free_balance", int(asset.id), account)
        )
    pallet, entry, keys = account_entry(await read_table(client), asset, account)
    row = await read_storage(client, pallet, entry, *keys)
    if asset.kind == "tokens":
        return max(int(row["free"]) - int(row["frozen"]), 0)
    return 0 if row is None or row.get("status", "Liquid") != "Liquid" else int(row["balance"])


async def existential_deposit(client: "Client", asset: "Asset") -> int:
    """Return the smallest balance of *asset* that an account can hold, raw; Inconclusive where the
    chain does not tell."""
    if asset.kind == "native":
        return await _native_deposit(client)
    if asset.kind not in _OF_HUBS and not asset.id.isdigit():
        raise Inconclusive(
            f"the existential deposit of {asset.label} on {client.chain.title} can't be read"
        )
    row = await read_details(client, asset)
    if row is None:
        raise Inconclusive(f"{client.chain.title} has no asset {asset.label}")
    return deposit_of(row)


async def is_sufficient(client: "Client", asset: "Asset") -> bool:
    """Tell whether *asset* keeps an account on an Asset Hub alive by itself; Inconclusive where the
    chain does not tell."""
    row = await read_details(client, asset) if asset.kind in _OF_HUBS else None
    return row is not None and bool(row["is_sufficient"])


async def read_details(client: "Client", asset: "Asset") -> Any:
    """Return the row of *asset*, which isn't native; None if the chain has no such asset,
    Inconclusive if it doesn't tell."""
    pallet, entry, keys = details_entry(await read_table(client), asset)
    return await read_storage(client, pallet, entry, *keys)


async def _native_deposit(client: "Client") -> int:
    return int(await read_constant(client, *NATIVE_DEPOSIT))
