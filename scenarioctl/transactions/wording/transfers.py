"""Words for transfers and trades within a chain.  To word another one, add a row: `sentences.py` says how."""

from collections.abc import Mapping

from scenarioctl.transactions.inner_calls import expand_calls
from scenarioctl.transactions.trades import TRADES
from scenarioctl.transactions.wording.phrases import Words
from scenarioctl.transactions.wording.sentences import rows, sentence

#: Plain transfers to one account, of which many in a batch are summed up: how the amount is written, and the receiver.
PAYMENTS: Mapping[tuple[str, str], tuple[str, str]] = {
    key: payment
    for name, payment in {
        "Balances.transfer|transfer_keep_alive|transfer_allow_death": ("native:value", "dest"),
        "Assets|ForeignAssets.transfer|transfer_keep_alive": ("amount:amount,id", "target"),
        "PoolAssets.transfer|transfer_keep_alive": ("pooled:amount,id", "target"),
        "Tokens.transfer|transfer_keep_alive": ("amount:amount,currency_id", "dest"),
        "Currencies.transfer": ("amount:amount,currency_id", "dest"),
        "Currencies.transfer_native_currency": ("native:amount", "dest"),
    }.items()
    for key in expand_calls(name)
}


def _fungible(pallets: str, amount: str) -> dict[str, str]:
    """Return the rows of instances of `pallet_assets`."""
    return {
        f"{pallets}.force_transfer": f"transfers {amount} from {{account:source}} to {{account:dest}}",
        f"{pallets}.transfer_approved": f"transfers {amount} from {{account:owner}} to {{account:destination}}",
        f"{pallets}.mint": f"mints {amount} for {{account:beneficiary}}",
        f"{pallets}.burn": f"burns up to {amount} of {{account:who}}",
    }


_ALL = "transfers all {%s} of the signer<keep_alive? but the existential deposit> to {account:dest}"
_LOCKED = (
    "transfers {native:schedule.locked}%s to {account:target} on {here}, "
    "released from block {plain:schedule.starting_block} on by {native:schedule.per_block} a block"
)
#: Hydration's pallet of the same name.
_PERIODIC = (
    "transfers {product:schedule.per_period,schedule.period_count} to {account:dest} on {here}, "
    "released from block {plain:schedule.start} on by {native:schedule.per_period} every {plain:schedule.period} blocks"
)


def _trade(pallet: str, method: str, order: str = "") -> str:
    """Return the words of a trade whose fields stand in *order*."""
    fields, has_path = TRADES[pallet, method], pallet == "AssetConversion"
    sold, bought = ("path.0", "path.-1") if has_path else (f"{order}asset_in", f"{order}asset_out")
    verb, limit, traded, other = (
        ("buys", "most", bought, sold) if fields.buys else ("sells", "least", sold, bought)
    )
    amount = (
        f"{{amount:{order}{fields.amount},{traded}}}"
        if fields.amount
        else f"all {{asset:{traded}}} of the signer"
    )
    end = ", received by {account:send_to}" if has_path else ""
    if pallet == "Router":
        end = f", <{order}route+through {{pools:{order}route}}|over the route that the chain chooses>"
    return f"{verb} {amount} {{{limit}:{order}{fields.limit},{other}}} on {{here}}{end}"


def _repeated(method: str, order: str) -> str:
    return (
        f"every {{plain:schedule.period}} blocks, for {{account:schedule.owner}}: {_trade('Router', method, order)}"
        "<schedule.slippage?, within {percent:schedule.slippage} % of the price of the block before>, "
        f"<schedule.total_amount+up to {{amount:schedule.total_amount,{order}asset_in}} in all|until it is stopped>"
    )


#: (pallet, method) -> how it is said.
WORDS: Mapping[tuple[str, str], Words] = {
    **{
        key: sentence(f"transfers {{{amount}}} to {{account:{receiver}}} on {{here}}")
        for key, (amount, receiver) in PAYMENTS.items()
    },
    **rows(
        {
            "Balances.force_transfer": "transfers {native:value} from {account:source} to {account:dest}",
            "Balances.transfer_all": _ALL % "symbol",
            "Balances.burn": "burns {native:value} of the signer",
            "Assets|ForeignAssets.transfer_all": _ALL % "asset:id",
            "Tokens.transfer_all": _ALL % "asset:currency_id",
            "Tokens.force_transfer": "transfers {amount:amount,currency_id} from {account:source} to {account:dest}",
            **_fungible("Assets|ForeignAssets", "{amount:amount,id}"),
            **_fungible("PoolAssets", "{pooled:amount,id}"),
        },
        " on {here}",
    ),
    ("Treasury", "spend_local"): sentence(
        "has the treasury of {here} pay {native:amount} to {account:beneficiary}"
    ),
    **{key: sentence(_trade(*key)) for key in TRADES},
    ("Vesting", "vested_transfer"): sentence(_LOCKED % "", _PERIODIC),
    ("Vesting", "force_vested_transfer"): sentence(_LOCKED % " from {account:source}"),
    ("DCA", "schedule"): sentence(
        _repeated("sell", "schedule.order.Sell."), _repeated("buy", "schedule.order.Buy.")
    ),
}
