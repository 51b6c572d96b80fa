"""The fields of a transfer, which requests inherit."""

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from scenarioctl.actions.fields import read_remote_fee_asset, read_xcm_version
from scenarioctl.actions.vocabulary import (
    ACCOUNT,
    ASSET,
    CHAIN,
    FLAG,
    TOKENS,
    Kind,
    Part,
    Reading,
    parsing,
    parts_of,
)
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.request_fields import Value

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
            kind=ASSET,
            at="source.assetId",
            of="source_chain",
        ),
    ]
    #: Whole tokens, like 1.5 or '1.5 DOT'; 15000000000raw is in the smallest unit. `max` is all
    #: that `sender` can send now: the scenario keeps this number, and each run of a job drafts it
    #: again.
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
class UnstoredTransferFields(TransferFields):
    """Fields of a transfer that is drafted and not stored."""

    #: Accept that what arrives can't all be spent at first, because a deposit limit locks it.
    accept_locked: Annotated[bool, Value(rare=True)] = False


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class LossFields:
    """Fields of a transfer that is built without a check."""

    #: Build it also if so little arrives that it is lost. Not with `check`, which judges what
    #: arrives.
    accept_loss: Annotated[bool, Part(kind=FLAG, at="acceptLoss")] = False


PARTS = {
    **parts_of(TransferStep),
    **parts_of(TransferFields),
    **parts_of(LossFields),
    "sender": Part(
        kind=Kind(read=_holder, write=lambda holder, _: holder or None, open=True),
        at="sender",
        of="source_chain",
    ),
}
