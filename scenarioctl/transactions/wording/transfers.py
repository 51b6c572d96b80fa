"""Words for transfers and trades within a chain.  To word another one, add a row: `sentences.py` says how."""

from collections.abc import Mapping

from scenarioctl.transactions.inner_calls import expand_calls
from scenarioctl.transactions.wording.phrases import Words
from scenarioctl.transactions.wording.sentences import ANY_LEAST as ANY_LEAST
from scenarioctl.transactions.wording.sentences import ANY_MOST as ANY_MOST
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


def _sells(amount: str, least: str, order: str = "") -> str:
    """Return the words of a sale whose fields stand in *order*."""
    return f"sells {{amount:{order}{amount},{order}asset_in}} {{least:{order}{least},{order}asset_out}} on {{here}}"


def _buys(amount: str, most: str, order: str = "") -> str:
    return (
        f"buys {{amount:{order}{amount},{order}asset_out}} {{most:{order}{most},{order}asset_in}} on {{here}}"
    )


def _route(order: str = "") -> str:
    return f", <{order}route+through {{pools:{order}route}}|over the route that the chain chooses>"


def _repeated(trade: str, order: str) -> str:
    return (
        f"every {{plain:schedule.period}} blocks, for {{account:schedule.owner}}: {trade}{_route(order)}"
        "<schedule.slippage?, within {percent:schedule.slippage} % of the price of the block before>, "
        f"<schedule.total_amount+up to {{amount:schedule.total_amount,{order}asset_in}} in all|until it is stopped>"
    )


_SOLD, _BOUGHT = "schedule.order.Sell.", "schedule.order.Buy."
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
            "Uniques|Nfts.transfer": "transfers item {plain:item} of collection {plain:collection} to {account:dest}",
        },
        " on {here}",
    ),
    **rows(
        {
            "Treasury.spend_local": "has the treasury of {here} pay {native:amount} to {account:beneficiary}",
            "Omnipool.sell": _sells("amount", "min_buy_amount"),
            "Omnipool.buy": _buys("amount", "max_sell_amount"),
            "Router.sell": _sells("amount_in", "min_amount_out") + _route(),
            "Router.sell_all": "sells all {asset:asset_in} of the signer {least:min_amount_out,asset_out} on {here}"
            + _route(),
            "Router.buy": _buys("amount_out", "max_amount_in") + _route(),
            "XYK|LBP.sell": _sells("amount", "max_limit"),
            "XYK|LBP.buy": _buys("amount", "max_limit"),
            "Stableswap.sell": _sells("amount_in", "min_buy_amount"),
            "Stableswap.buy": _buys("amount_out", "max_sell_amount"),
            "HSM.sell": _sells("amount_in", "slippage_limit"),
            "HSM.buy": _buys("amount_out", "slippage_limit"),
            "AssetConversion.swap_exact_tokens_for_tokens": "sells {amount:amount_in,path.0} {least:amount_out_min,path.-1} on {here}, received by {account:send_to}",
            "AssetConversion.swap_tokens_for_exact_tokens": "buys {amount:amount_out,path.-1} {most:amount_in_max,path.0} on {here}, received by {account:send_to}",
        }
    ),
    ("Vesting", "vested_transfer"): sentence(_LOCKED % "", _PERIODIC),
    ("Vesting", "force_vested_transfer"): sentence(_LOCKED % " from {account:source}"),
    ("DCA", "schedule"): sentence(
        _repeated(_sells("amount_in", "min_amount_out", _SOLD), _SOLD),
        _repeated(_buys("amount_out", "max_amount_in", _BOUGHT), _BOUGHT),
    ),
}
