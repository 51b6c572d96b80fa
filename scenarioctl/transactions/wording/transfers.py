"""Words for transfers and trades within a chain.  To word another one, add a row to WORDS."""

from collections.abc import Callable, Mapping
from typing import Any

from scenarioctl.model.amounts import U128_MAX, to_whole
from scenarioctl.transactions.wording.phrases import NoPhrase, Payment, Phrases, Words
from scenarioctl.transactions.wording.sentences import around, sentence

Amount = Callable[[Phrases, Mapping[str, Any], int], str]


def _native(phrases: Phrases, args: Mapping[str, Any], value: int) -> str:  # noqa: ARG001
    return phrases.native(value)


def _listed(naming: str) -> Amount:
    return lambda phrases, args, value: phrases.listed(value, args[naming])


def _placed(phrases: Phrases, args: Mapping[str, Any], value: int) -> str:
    return phrases.placed(value, args["id"])


def _pooled(phrases: Phrases, args: Mapping[str, Any], value: int) -> str:  # noqa: ARG001
    # Numbered apart from the other assets, which the table of assets knows.
    return f"{value} smallest units of the pool asset {args['id']}"


def _transfer(amount: Amount, field: str, receiver: str, *, source: str = "") -> Words:
    """Return the words of a transfer of the amount in *field* to the account in *receiver*."""

    def say(phrases: Phrases, args: Mapping[str, Any]) -> str:
        payer = f" from {phrases.account(args[source])}" if source else ""
        to = phrases.account(args[receiver])
        said = amount(phrases, args, args[field])
        if not source:
            asset = amount(phrases, args, 0), phrases.chain.name
            phrases.reading.payment = Payment(
                of=asset,
                value=args[field],
                amount=lambda value: amount(phrases, args, value),
                receiver=to,
            )
        return f"transfers {said}{payer} to {to} on {phrases.chain.name}"

    return say


def _transfer_all(naming: str = "") -> Words:
    def say(phrases: Phrases, args: Mapping[str, Any]) -> str:
        kept = " but the existential deposit" if args["keep_alive"] else ""
        what = phrases.asset(args[naming]) if naming else phrases.assets.native(phrases.chain).display_name
        to = phrases.account(args["dest"])
        return f"transfers all {what} of the signer{kept} to {to} on {phrases.chain.name}"

    return say


def _minted(verb: str, amount: Amount, account: str) -> Words:
    def say(phrases: Phrases, args: Mapping[str, Any]) -> str:
        said = verb.format(amount(phrases, args, args["amount"]), phrases.account(args[account]))
        return f"{said} on {phrases.chain.name}"

    return say


def _vested(source: str = "") -> Words:
    def say(phrases: Phrases, args: Mapping[str, Any]) -> str:
        schedule = args["schedule"]
        if "locked" in schedule:
            total, start = schedule["locked"], schedule["starting_block"]
            part = f"{phrases.native(schedule['per_block'])} a block"
        else:
            total, start = schedule["per_period"] * schedule["period_count"], schedule["start"]
            part = f"{phrases.native(schedule['per_period'])} every {schedule['period']} blocks"
        payer = f" from {phrases.account(args[source])}" if source else ""
        to = phrases.account(args["target" if "target" in args else "dest"])
        return (
            f"transfers {phrases.native(total)}{payer} to {to} on {phrases.chain.name}, "
            f"released from block {start} on by {part}"
        )

    return say


#: Least amounts that protect nothing, and most amounts that protect nothing.
ANY_LEAST, ANY_MOST = (0, 1), U128_MAX


def _at_least(phrases: Phrases, least: int, amount: Amount, args: Mapping[str, Any]) -> str:
    return "at any price" if least in ANY_LEAST else f"for at least {amount(phrases, args, least)}"


def _at_most(phrases: Phrases, most: int, amount: Amount, args: Mapping[str, Any]) -> str:
    return "at any price" if most == ANY_MOST else f"for at most {amount(phrases, args, most)}"


def _sell(amount: str, least: str) -> Words:
    def say(phrases: Phrases, args: Mapping[str, Any]) -> str:
        sold = phrases.listed(args[amount], args["asset_in"])
        price = _at_least(phrases, args[least], _listed("asset_out"), args)
        return f"sells {sold} {price} on {phrases.chain.name}{_through(args)}"

    return say


def _buy(amount: str, most: str) -> Words:
    def say(phrases: Phrases, args: Mapping[str, Any]) -> str:
        bought = phrases.listed(args[amount], args["asset_out"])
        price = _at_most(phrases, args[most], _listed("asset_in"), args)
        return f"buys {bought} {price} on {phrases.chain.name}{_through(args)}"

    return say


def _sell_all(phrases: Phrases, args: Mapping[str, Any]) -> str:
    sold = phrases.asset(args["asset_in"])
    price = _at_least(phrases, args["min_amount_out"], _listed("asset_out"), args)
    return f"sells all {sold} of the signer {price} on {phrases.chain.name}{_through(args)}"


def _schedule(phrases: Phrases, args: Mapping[str, Any]) -> str:
    schedule = args["schedule"]
    ((kind, order),) = schedule["order"].items()
    say = {"Sell": _sell("amount_in", "min_amount_out"), "Buy": _buy("amount_out", "max_amount_in")}[kind]
    total, slippage = schedule["total_amount"], schedule["slippage"]
    spent = f"up to {phrases.listed(total, order['asset_in'])} in all" if total else "until it is stopped"
    near = "" if slippage is None else f", within {to_whole(slippage, 4)} % of the price of the block before"
    return (
        f"every {schedule['period']} blocks, for {phrases.account(schedule['owner'])}: "
        f"{say(phrases, order)}{near}, {spent}"
    )


def _through(args: Mapping[str, Any]) -> str:
    """Return the way of a trade; nothing if it is the pallet's own pool."""
    if "route" not in args:
        return ""
    hops = len(args["route"])
    way = f"through {hops} pool{'s' * (hops != 1)}" if hops else "over the route that the chain chooses"
    return f", {way}"


def _swap_along_path(phrases: Phrases, args: Mapping[str, Any]) -> tuple[Any, Any, str]:
    """Return the first and the last asset of a path, and where a trade along it ends."""
    path = args["path"]
    if len(path) < 2:
        raise NoPhrase
    return path[0], path[-1], f"on {phrases.chain.name}, received by {phrases.account(args['send_to'])}"


def _convert_exactly(phrases: Phrases, args: Mapping[str, Any]) -> str:
    sold, bought, where = _swap_along_path(phrases, args)
    price = _at_least(phrases, args["amount_out_min"], lambda *given: given[0].placed(given[2], bought), args)
    return f"sells {phrases.placed(args['amount_in'], sold)} {price} {where}"


def _convert_for_exactly(phrases: Phrases, args: Mapping[str, Any]) -> str:
    sold, bought, where = _swap_along_path(phrases, args)
    price = _at_most(phrases, args["amount_in_max"], lambda *given: given[0].placed(given[2], sold), args)
    return f"buys {phrases.placed(args['amount_out'], bought)} {price} {where}"


def _fungible(pallet: str, amount: Amount, naming: str) -> dict[tuple[str, str], Words]:
    """Return the rows of a pallet of assets that is an instance of `pallet_assets`."""
    return {
        (pallet, "transfer"): _transfer(amount, "amount", "target"),
        (pallet, "transfer_keep_alive"): _transfer(amount, "amount", "target"),
        (pallet, "force_transfer"): _transfer(amount, "amount", "dest", source="source"),
        (pallet, "transfer_approved"): _transfer(amount, "amount", "destination", source="owner"),
        **({(pallet, "transfer_all"): _transfer_all(naming)} if naming else {}),
        (pallet, "mint"): _minted("mints {} for {}", amount, "beneficiary"),
        (pallet, "burn"): _minted("burns up to {} of {}", amount, "who"),
    }


_ITEM = sentence("transfers item {plain:item} of collection {plain:collection} to {account:dest}")
#: (pallet, method) -> how it is said.
WORDS: Mapping[tuple[str, str], Words] = {
    ("Balances", "transfer"): _transfer(_native, "value", "dest"),
    ("Balances", "transfer_keep_alive"): _transfer(_native, "value", "dest"),
    ("Balances", "transfer_allow_death"): _transfer(_native, "value", "dest"),
    ("Balances", "force_transfer"): _transfer(_native, "value", "dest", source="source"),
    ("Balances", "transfer_all"): _transfer_all(),
    ("Balances", "burn"): sentence("burns {native:value} of the signer"),
    **_fungible("Assets", _listed("id"), "id"),
    **_fungible("ForeignAssets", _placed, "id"),
    **_fungible("PoolAssets", _pooled, ""),
    ("Tokens", "transfer"): _transfer(_listed("currency_id"), "amount", "dest"),
    ("Tokens", "transfer_keep_alive"): _transfer(_listed("currency_id"), "amount", "dest"),
    ("Tokens", "force_transfer"): _transfer(_listed("currency_id"), "amount", "dest", source="source"),
    ("Tokens", "transfer_all"): _transfer_all("currency_id"),
    ("Currencies", "transfer"): _transfer(_listed("currency_id"), "amount", "dest"),
    ("Currencies", "transfer_native_currency"): _transfer(_native, "amount", "dest"),
    ("Vesting", "vested_transfer"): _vested(),
    ("Vesting", "force_vested_transfer"): _vested("source"),
    ("Uniques", "transfer"): _ITEM,
    ("Nfts", "transfer"): _ITEM,
    ("Treasury", "spend_local"): around(
        "has the treasury of {here} pay {native:amount} to {account:beneficiary}"
    ),
    ("Omnipool", "sell"): _sell("amount", "min_buy_amount"),
    ("Omnipool", "buy"): _buy("amount", "max_sell_amount"),
    ("Router", "sell"): _sell("amount_in", "min_amount_out"),
    ("Router", "sell_all"): _sell_all,
    ("Router", "buy"): _buy("amount_out", "max_amount_in"),
    **{(pallet, "sell"): _sell("amount", "max_limit") for pallet in ("XYK", "LBP")},
    **{(pallet, "buy"): _buy("amount", "max_limit") for pallet in ("XYK", "LBP")},
    ("Stableswap", "sell"): _sell("amount_in", "min_buy_amount"),
    ("Stableswap", "buy"): _buy("amount_out", "max_sell_amount"),
    ("HSM", "sell"): _sell("amount_in", "slippage_limit"),
    ("HSM", "buy"): _buy("amount_out", "slippage_limit"),
    ("DCA", "schedule"): _schedule,
    ("AssetConversion", "swap_exact_tokens_for_tokens"): _convert_exactly,
    ("AssetConversion", "swap_tokens_for_exact_tokens"): _convert_for_exactly,
}
