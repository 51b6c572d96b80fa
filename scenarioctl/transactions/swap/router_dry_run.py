"""Trades in any pools of the exchange chain, by the chain's own dry run of its router."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scenarioctl.errors import ChainRefused, InvalidRequest
from scenarioctl.runtime.storage_keys import StorageAddress, storage_key
from scenarioctl.transactions.events import explain_dispatch_error, read_event
from scenarioctl.transactions.swap.omnipool_state import is_erc20, read_entries
from scenarioctl.transactions.swap.route import RouteHop, format_route
from scenarioctl.transactions.swap.swap_call import router_sell

if TYPE_CHECKING:
    from scenarioctl.chains.client import Client
    from scenarioctl.runtime.table import RuntimeTable

#: The account that trades if no sender is known: the dry run gives it the amount, and nobody holds its key.
STAND_IN = b"scenarioctl quote".ljust(32, b"\0")
#: Native raw units that the stand-in gets for the deposits that new balances cost.
_STAND_IN_NATIVE = 10**16
#: What to do if a quote needs a dry run that fails.
GIVE_MINIMUM = "set the minimum with --min-received and --exact-minimum"


class RouterDryRun:
    """The router of one chain at one block."""

    def __init__(self, client: "Client", table: "RuntimeTable", at: str) -> None:
        self._client = client
        self._table = table
        self._at = at
        self._native: int = table.constant("Omnipool", "HdxAssetId")

    async def is_contract(self, asset: int) -> bool:
        """Tell whether *asset* is a contract's token, which a dry run can give to nobody."""
        return is_erc20((await self._read([("AssetRegistry", "Assets", (asset,))]))[0])

    async def _read(self, entries: Sequence[StorageAddress]) -> list[Any]:
        return await read_entries(self._client, self._table, entries, at=self._at)

    async def sell(self, hops: tuple[RouteHop, ...], amount: int, sender: bytes | None) -> int:
        """Return what a dry run of the router brings at this block; ChainRefused says why it fails.

        By the *sender*, or by an account that the dry run itself, as root, gives the amount.
        """
        sold = hops[0].asset_in
        trade = router_sell(hops, amount=amount, min_amount_out=0)
        call: dict[str, Any] = {trade.pallet: {trade.method: trade.args}}
        origin: Any = {"system": {"Signed": sender}}
        if sender is None:
            balances = {self._native: _STAND_IN_NATIVE}
            balances[sold] = balances.get(sold, 0) + amount
            issuance = await self._issuance(sold) if any(hop.pool_id == sold for hop in hops) else None
            origin, call = {"system": "Root"}, _funded(call, balances, issuance)
        try:
            answer = await self._client.runtime_call(
                "DryRunApi", "dry_run_call", origin, call, 5, at=self._at
            )
        except (ChainRefused, InvalidRequest) as error:
            raise ChainRefused(
                f"{self._client.chain.name} cannot dry-run {format_route(hops)}: {error}",
                advice=f"; {GIVE_MINIMUM}",
            ) from None
        received = _read_dry_run(self._table, answer)
        if isinstance(received, str):
            raise ChainRefused(
                f"{self._client.chain.name} refuses {format_route(hops)} in a dry run: {received}"
            )
        return received

    async def _issuance(self, asset: int) -> tuple[str, str]:
        """Return key and value of how much of a token there is, as they are stored."""
        (issued,) = await self._read([("Tokens", "TotalIssuance", (asset,))])
        key = storage_key(self._table, "Tokens", "TotalIssuance", (asset,))
        return key.hex, "0x" + self._table.encode(key.entry.value_type, issued).hex()


def _funded(
    call: Mapping[str, Any], balances: Mapping[int, int], issuance: tuple[str, str] | None
) -> dict[str, Any]:
    """Return the batch in which root gives the stand-in *balances*, and the stand-in makes *call*.

    The balances are minted. A pool computes what its share is worth from the issuance, so the stored *issuance* of a
    share is put back.
    """
    gifts = [
        {"Currencies": {"update_balance": {"who": STAND_IN, "currency_id": asset, "amount": amount}}}
        for asset, amount in balances.items()
    ]
    if issuance is not None:
        gifts.append({"System": {"set_storage": {"items": [issuance]}}})
    acted = {"Utility": {"dispatch_as": {"as_origin": {"system": {"Signed": STAND_IN}}, "call": call}}}
    return {"Utility": {"batch_all": {"calls": [*gifts, acted]}}}


def _read_dry_run(table: "RuntimeTable", answer: Any) -> int | str:
    """Return what the router's trade brought, or what failed."""
    if "Err" in answer:
        return str(answer["Err"])
    effects = answer["Ok"]
    outcome = effects["execution_result"]
    if "Err" in outcome:
        return explain_dispatch_error(table, outcome["Err"]["error"])
    received: int | None = None
    for event in map(read_event, effects["emitted_events"]):
        if str(event) == "Utility.DispatchedAs" and "Err" in event.fields["result"]:
            return explain_dispatch_error(table, event.fields["result"]["Err"])
        if str(event) == "Router.Executed":
            received = event.fields["amount_out"]
    return received if received is not None else "it reports no trade"
