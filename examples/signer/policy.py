"""The policy: which calls the signer may sign. It refuses every call that no rule allows."""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from chain import Refused, compact
from scalecodec.utils.ss58 import ss58_decode

#: Tells how much of an asset of a chain was moved in the last 24 hours, raw.
Spent = Callable[[str, str], int]
#: The calls that the signer understands, by the kind that a rule names.
CALLS = {
    "transfer": {
        ("Balances", "transfer_keep_alive"),
        ("Balances", "transfer_allow_death"),
        ("Balances", "transfer"),
        ("Assets", "transfer_keep_alive"),
        ("Assets", "transfer"),
    },
    "xcm": {
        (pallet, method)
        for pallet in ("XcmPallet", "PolkadotXcm")
        for method in (
            "limited_teleport_assets",
            "limited_reserve_transfer_assets",
            "transfer_assets",
            "transfer_assets_using_type_and_then",
        )
    },
    "remark": {("System", "remark"), ("System", "remark_with_event")},
}


#: How the calls without a transfer type move the asset.
_BY = {
    "limited_teleport_assets": "Teleport",
    "limited_reserve_transfer_assets": "Reserve",
    "transfer_assets": "Automatic",
}


@dataclass(frozen=True, kw_only=True)
class Move:
    """What a call does, as far as rules ask."""

    chain: str
    kind: str
    asset: str = ""
    amount: int = 0
    #: The receiver's public key, as hex.
    receiver: str = ""
    #: Where the tokens go, as a location seen from the chain; empty if they stay there.
    to: str = ""
    #: How they get there: a transfer type of the call, or `Teleport`, `Reserve` or `Automatic` for
    #: the older calls.
    by: str = ""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One `[[allow]]` of the policy. Amounts are raw."""

    name: str
    chain: str
    kind: str
    assets: tuple[str, ...] = ()
    most: int = 0
    most_per_day: int = 0
    receivers: tuple[str, ...] = ()
    to: str = ""
    by: str = ""

    def refusal(self, move: Move, spent: Spent) -> str:
        """Return why this rule doesn't allow *move*; "" if it does."""
        if move.chain != self.chain:
            return f"it is for {self.chain}"
        if move.kind != self.kind:
            return f"it allows {self.kind}, not {move.kind}"
        if self.kind == "remark":
            return ""
        if move.asset not in self.assets:
            return f"it doesn't allow the asset {move.asset}"
        if move.to != self.to:
            return f"it allows {self.to or 'no other chain'}, not {move.to or 'the same chain'}"
        if move.by != self.by:
            return f"it allows {self.by}, not {move.by}"
        if move.receiver not in self.receivers:
            return f"0x{move.receiver} is not one of its receivers"
        if move.amount > self.most:
            return f"{move.amount} is more than max ({self.most})"
        day = sum(spent(self.chain, asset) for asset in self.assets)
        if day + move.amount > self.most_per_day:
            return (
                f"{move.amount} and the {day} of the last 24 hours are more than max_per_day "
                f"({self.most_per_day})"
            )
        return ""


@dataclass(frozen=True, kw_only=True)
class Chain:
    """One `[chains.NAME]`: a node that you trust, and what the chain must be."""

    node: str
    genesis: str
    #: For one transaction and for any 24 hours, raw.
    most_fee: int
    most_fee_per_day: int

    def refusal(self, fee: int, day: int) -> str:
        """Return why a transaction with this fee isn't signed after fees of *day* in the last 24
        hours; "" if it is."""
        if fee > self.most_fee:
            return f"its fee {fee} is more than max_fee ({self.most_fee})"
        if day + fee > self.most_fee_per_day:
            return (
                f"its fee {fee} and the {day} of the last 24 hours are more than "
                f"max_fee_per_day ({self.most_fee_per_day})"
            )
        return ""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """The whole file."""

    daemon: str
    journal: Path
    jobs: tuple[str, ...]
    most_transactions_per_day: int
    chains: Mapping[str, Chain]
    rules: tuple[Rule, ...]

    def rule_for(self, move: Move, spent: Spent) -> Rule:
        """Return the first rule that allows *move*; Refused, with what each says, if none does."""
        reasons = []
        for rule in self.rules:
            if not (reason := rule.refusal(move, spent)):
                return rule
            reasons.append(f"{rule.name}: {reason}")
        raise Refused("no rule allows it. " + "; ".join(reasons))


def load_policy(path: Path) -> Policy:
    """Read the file; SystemExit for anything that isn't understood, since a typo must not widen
    it."""
    with path.open("rb") as file:
        table = tomllib.load(file)
    try:
        _only(
            table,
            {"daemon", "journal", "jobs", "max_transactions_per_day", "chains", "allow"},
            "the policy",
        )
        chains = {name: _chain(name, each) for name, each in table["chains"].items()}
        rules = tuple(_rule(number, each) for number, each in enumerate(table["allow"], 1))
        for rule in rules:
            if rule.chain not in chains:
                raise ValueError(f"{rule.name}: there is no [chains.{rule.chain}]")
        return Policy(
            daemon=str(table["daemon"]).rstrip("/"),
            journal=path.parent / table["journal"],
            jobs=tuple(table["jobs"]),
            most_transactions_per_day=int(table["max_transactions_per_day"]),
            chains=chains,
            rules=rules,
        )
    except KeyError as error:
        raise SystemExit(f"{path}: {error.args[0]} is missing") from None
    except (ValueError, InvalidOperation, TypeError) as error:
        raise SystemExit(f"{path}: {error}") from None


def _only(table: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    if unknown := set(table) - set(known):
        raise ValueError(f"{where} has unknown keys: {', '.join(sorted(unknown))}")


def _chain(name: str, table: dict[str, Any]) -> Chain:
    _only(table, {"node", "genesis", "decimals", "max_fee", "max_fee_per_day"}, f"chains.{name}")
    return Chain(
        node=table["node"],
        genesis=table["genesis"].lower(),
        most_fee=_raw(table["max_fee"], table["decimals"]),
        most_fee_per_day=_raw(table["max_fee_per_day"], table["decimals"]),
    )


def _rule(number: int, table: dict[str, Any]) -> Rule:
    name = f"rule {number}"
    kind = table["kind"]
    if kind not in CALLS:
        raise ValueError(f"{name}: kind {kind!r} is unknown, expected one of: {', '.join(CALLS)}")
    if kind == "remark":
        _only(table, {"chain", "kind"}, name)
        return Rule(name=name, chain=table["chain"], kind=kind)
    known = {"chain", "kind", "assets", "decimals", "max", "max_per_day", "receivers"}
    _only(table, known | ({"to", "by"} if kind == "xcm" else set()), name)
    return Rule(
        name=name,
        chain=table["chain"],
        kind=kind,
        assets=tuple(table["assets"]),
        most=_raw(table["max"], table["decimals"]),
        most_per_day=_raw(table["max_per_day"], table["decimals"]),
        receivers=tuple(ss58_decode(each) for each in table["receivers"]),
        to=table["to"] if kind == "xcm" else "",
        by=table["by"] if kind == "xcm" else "",
    )


def _raw(amount: str, decimals: int) -> int:
    """Return whole tokens, which are text, in the smallest unit."""
    if not isinstance(amount, str):
        raise TypeError(f'{amount} is not text: write "{amount}"')
    raw = Decimal(amount).scaleb(decimals)
    if not raw.is_finite() or raw < 0 or raw != int(raw):
        raise ValueError(f"{amount} is not an amount with {decimals} decimals")
    return int(raw)


def read_move(chain: str, call: dict[str, Any], data: bytes) -> Move:
    """Return what a decoded call does; Refused for calls, and shapes of calls, that the signer
    doesn't know."""
    name = (call["call_module"], call["call_function"])
    kind = next((kind for kind, calls in CALLS.items() if name in calls), "")
    args = {each["name"]: each["value"] for each in call["call_args"]}
    if not kind:
        raise Refused(f"it is a call of {'.'.join(name)}, which this signer doesn't know")
    if kind == "remark":
        return Move(chain=chain, kind=kind)
    try:
        read = _transfer(name[0], args, data) if kind == "transfer" else _xcm(name[1], args)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Refused(
            f"{'.'.join(name)} has a shape that this signer doesn't know ({error!r})"
        ) from None
    return Move(chain=chain, kind=kind, **read)


def _transfer(pallet: str, args: Mapping[str, Any], data: bytes) -> dict[str, Any]:
    receiver = ss58_decode(args.get("dest", args.get("target")))
    amount = int(args.get("value", args.get("amount")))
    # The same call, written here: nothing in it is left unread.
    written = b"\0" + bytes.fromhex(receiver) + compact(amount)
    if pallet == "Assets":
        written = compact(int(args["id"])) + written
    if data[2:] != written:
        raise Refused("the receiver is not an account by its public key")
    asset = f"Assets({args['id']})" if pallet == "Assets" else "native"
    return {"receiver": receiver, "amount": amount, "asset": asset}


def _xcm(method: str, args: Mapping[str, Any]) -> dict[str, Any]:
    (asset,) = _versioned(args["assets"])
    by = _BY.get(method) or args["assets_transfer_type"]
    if method == "transfer_assets_using_type_and_then":
        (step,) = _versioned(args["custom_xcm_on_dest"])
        if set(step) != {"DepositAsset"}:
            raise Refused("its program for the other chain does more than deposit the asset")
        beneficiary = step["DepositAsset"]["beneficiary"]
        if step["DepositAsset"]["assets"] not in ({"Wild": "All"}, {"Wild": {"AllCounted": 1}}):
            raise Refused("its program for the other chain doesn't deposit all of the asset")
        if (
            by not in ("Teleport", "LocalReserve", "DestinationReserve")
            or args["fees_transfer_type"] != by
        ):
            raise Refused(f"this signer doesn't know the transfer type {by}")
        if location(_versioned(args["remote_fees_id"])) != _asset_id(asset):
            raise Refused("the fee on the other chain is paid in another asset")
    else:
        beneficiary = _versioned(args["beneficiary"])
        if args["fee_asset_item"] != 0:
            raise Refused("fee_asset_item is not 0")
    if args["weight_limit"] != "Unlimited":
        raise Refused("weight_limit is not Unlimited")
    if beneficiary["parents"] != 0:
        raise Refused("the receiver is not an account on the other chain")
    ((_, account),) = beneficiary["interior"].items()
    (account,) = account if isinstance(account, (list, tuple)) else (account,)
    ((kind, key),) = account.items()
    return {
        "receiver": key[{"AccountId32": "id", "AccountKey20": "key"}[kind]].removeprefix("0x"),
        "amount": int(asset["fun"]["Fungible"]),
        "asset": _asset_id(asset),
        "to": location(_versioned(args["dest"])),
        "by": by,
    }


def _asset_id(asset: Mapping[str, Any]) -> str:
    return location(asset["id"].get("Concrete", asset["id"]))


def _versioned(value: Mapping[str, Any]) -> Any:
    """Return what is inside `{"V5": …}`; the shapes of V3, V4 and V5 are known."""
    ((version, content),) = value.items()
    if version not in ("V3", "V4", "V5"):
        raise Refused(f"XCM {version} is not known to this signer")
    return content.get("Concrete", content) if isinstance(content, Mapping) else content


def location(value: Mapping[str, Any]) -> str:
    """Return a location in one line, like
    `1/Parachain(1000)/PalletInstance(50)/GeneralIndex(1984)`."""
    interior = value["interior"]
    if interior == "Here":
        return f"{value['parents']}/Here"
    ((_, junctions),) = interior.items()
    if not isinstance(junctions, (list, tuple)):
        junctions = (junctions,)
    words = [f"{name}({inner})" for each in junctions for name, inner in each.items()]
    return "/".join([str(value["parents"]), *words])
