"""The fields of a transfer, which requests inherit."""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from scenarioctl.actions.drafting import check_death
from scenarioctl.actions.fields import (
    find_form_asset,
    note_native,
    read_remote_fee_asset,
    read_xcm_version,
)
from scenarioctl.actions.placeholders import has_placeholder, require_filled
from scenarioctl.actions.vocabulary import (
    ACCOUNT,
    ASSET,
    CHAIN,
    FLAG,
    TOKENS,
    Kind,
    Part,
    Reading,
    Terms,
    parsing,
    parts_of,
)
from scenarioctl.errors import InvalidRequest
from scenarioctl.transactions.keyless_accounts import CONFIRM, check_receiver
from scenarioctl.transactions.transfer.request import Transfer
from scenarioctl.transactions.transfer.ways import find_sent_asset

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain


def _confirmed(reading: Reading, value: Any, name: str, receiver: Any) -> bool:
    """Tell whether the receiver is confirmed: by a flag, and in a form by the address itself."""
    if reading.way != "form":
        return bool(FLAG.read(reading, value, name, receiver))
    with suppress(InvalidRequest):
        account = reading["dest_chain"].account_format.parse(value, field=name)
        return bool(account == receiver[1])
    return False


def _holder(reading: Reading, value: Any, name: str, source: "Chain") -> str:
    """Return whose balance shares are of, as it was written; empty for the account that the
    transaction is drafted for."""
    if value not in (None, "") and reading.way != "form":
        source.account_format.parse(value, field=name)
    return str(value or "")


def _sent_asset(reading: Reading, value: Any, name: str, chain: Any) -> Any:
    if reading.way == "built":
        # Any location can be sent at once.
        return find_sent_asset(reading.app.assets, chain, value, field=name)
    asset = ASSET.read(reading, value, name, chain)
    if reading.way == "form" and asset is not None and not isinstance(asset, str):
        # First of all mistakes: what the amount counts may not be what was meant.
        with reading.checking("dest_chain"):
            _check_target_asset(reading, asset)
    return asset


def _check_target_asset(reading: Reading, asset: Any) -> None:
    """Refuse a diagram whose target names another asset; none there means the same one."""
    source, target = reading.written["source"], reading.written["target"]
    given = require_filled(target.get("assetId"), field="target.assetId")
    # The API that the editor came with writes the source's asset id on both sides, with no symbol
    # beside it.
    repeats = target.get("symbol") in (None, "") and str(given) == str(source.get("assetId"))
    if given is None or given == "" or repeats:
        return
    destination = reading["dest_chain"]
    other = find_form_asset(reading.app, destination, target, "target.assetId")
    if not reading.app.assets.same_asset(asset, other):
        raise InvalidRequest(
            field="source",
            problem=(
                f"asset {asset.id} and target asset {other.id} are not the same asset: "
                f"{asset.display_name} on {reading.app.registry.title_of(asset.chain)}, "
                f"{other.display_name} on {destination.title}"
            ),
        )


@dataclass(frozen=True, kw_only=True)
class TransferStep:
    """What goes where."""

    #: Chain it leaves.
    source_chain: Annotated[
        str,
        Part(
            "CHAIN",
            option="--from",
            spellings=("--source-chain", "--sourchain"),
            kind=CHAIN,
            at="source.chain",
        ),
    ]
    #: Chain it reaches.
    dest_chain: Annotated[
        str,
        Part(
            "CHAIN",
            option="--to",
            spellings=("--dest-chain", "--destchain", "--deschain"),
            kind=CHAIN,
            at="target.chain",
        ),
    ]
    #: Id, symbol or location of the asset on the source chain, like 1/Here.
    assetid: Annotated[
        str | int,
        Part(
            "ASSET",
            option="--asset",
            spellings=("--assetid",),
            kind=replace(ASSET, read=_sent_asset),
            at="source.assetId",
            of="source_chain",
        ),
    ]
    #: Whole tokens, like 1.5 or '1.5 DOT'; 15000000000raw is in the smallest unit. `max` is all
    #: that `sender` can send now.
    amount: Annotated[
        str | int | float, Part("TOKENS", kind=TOKENS, at="source.amount", of="assetid")
    ]
    #: Receiver on the destination chain: a name of the address book, SS58 of any prefix, or 0x
    #: public key; on Mythos 0x and 40 hex digits.
    destination_address: Annotated[
        str,
        Part(
            "ADDRESS",
            is_account=True,
            option="--to-address",
            spellings=("--destination-address", "--destinationaddress"),
            kind=ACCOUNT,
            at="target.address",
            of="dest_chain",
        ),
    ]


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class TransferFields:
    """What a transfer may do, and how."""

    #: Confirm a receiver without a private key, like the account of a pallet.
    yes: Annotated[
        bool,
        Part(
            # The address in place of a flag: a receiver that is edited later has to be confirmed
            # again.
            kind=Kind(
                read=_confirmed,
                write=lambda confirmed, receiver: receiver[0] if confirmed else None,
                back=lambda _app, _address, _form: True,
                alone=True,
            ),
            at="confirmedReceiver",
            of="destination_address",
        ),
    ] = False
    #: Let the transfer close the sender's account, or keep it alive (default). Only within a chain,
    #: or with `amount` max.
    allow_death: Annotated[bool | None, Part(off="--keep-alive", kind=FLAG, at="allowDeath")] = None
    #: Version of XCM to write: 3, 4 or 5; the highest that both runtimes know if left out.
    xcm_version: Annotated[
        str | int | None,
        Part(
            "3|4|5",
            offers=("3", "4", "5"),
            rare=True,
            kind=parsing(read_xcm_version, write=lambda version, _: version),
            at="xcmVersion",
        ),
    ] = None
    #: Asset of the source chain that goes along and pays for execution on the destination: its id,
    #: symbol or location. The chain is asked how much; what is left is the receiver's.
    remote_fee_asset: Annotated[
        str | int,
        Part(
            "ASSET",
            rare=True,
            kind=Kind(
                read=lambda reading, value, name, source: read_remote_fee_asset(
                    reading.app, source, value, name
                ),
                write=lambda asset, _: asset and asset.id,
            ),
            at="remoteFeeAsset",
            of="source_chain",
        ),
    ] = ""


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class LossFields:
    """Fields of a transfer that is built without a check."""

    #: Build it also if so little arrives that it is lost. A check refuses that nevertheless.
    accept_loss: Annotated[bool, Part(kind=FLAG, at="acceptLoss")] = False


def is_open(step: Reading) -> bool:
    """Tell whether a field of a transfer is filled in only when the scenario runs."""
    asset, (_, raw), (_, account) = (
        step[key] for key in ("assetid", "amount", "destination_address")
    )
    return isinstance(asset, str) or raw is None or account is None


def complete(step: Reading) -> Transfer:
    """Return the transfer, which must wait for no placeholder."""
    if is_open(step):
        raise InvalidRequest("the transfer has a placeholder, expected none")
    return Transfer(
        source=step["source_chain"],
        destination=step["dest_chain"],
        asset=step["assetid"],
        amount=step["amount"][1],
        beneficiary=step["destination_address"][1],
        xcm_version=step["xcm_version"],
        remote_fee_asset=step["remote_fee_asset"],
        allow_death=step["allow_death"],
        accept_loss=step["accept_loss"],
    )


def check_transfer(step: Reading) -> None:
    source, destination, asset = step["source_chain"], step["dest_chain"], step["assetid"]
    (address, account), is_form = step["destination_address"], step.way == "form"
    field = step.name("destination_address")
    with step.checking("dest_chain", "destination_address", "yes"):
        if account is not None:
            check_receiver(
                account,
                destination,
                address,
                field=field,
                confirmed=step["yes"],
                confirm="Create the scenario with `yes` if you mean it." if is_form else CONFIRM,
            )
        elif step["yes"] and has_placeholder(address):
            raise InvalidRequest(
                field=step.name("yes"),
                problem=f"confirms one receiver, but {field} is filled in by each run",
                expected="an address",
            )
    with step.checking("source_chain", "dest_chain", "allow_death"):
        # A request tells false from nothing; a flow file doesn't.
        death = step.given("allow_death") if step.way == "built" else step["allow_death"] or None
        check_death(None if is_form else death, source, destination, field=step.name("allow_death"))
    if not isinstance(asset, str):
        step.notes = note_native(step.given("assetid"), asset, step.name("assetid"))
    if step["amount"][1] is not None:
        # It is nobody's share.
        step.put("sender", "")


TRANSFER = Terms(
    parts={
        **parts_of(TransferStep),
        **parts_of(TransferFields),
        **parts_of(LossFields),
        "sender": Part(
            kind=Kind(read=_holder, write=lambda holder, _: holder or None, open=True),
            at="sender",
            of="source_chain",
        ),
    },
    rules=check_transfer,
)
