"""Fields and answers of operations that return a transaction, or store one that may be checked.

A scenario whose transactions are checked is stored only if they pass.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Annotated,
    Literal,
    NotRequired,
    ParamSpec,
    TypedDict,
    TypeVar,
)

from scenarioctl.application import Application
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.calls import UnsignedTransaction
from scenarioctl.model.json_types import CheckAnswer
from scenarioctl.model.request_fields import ActingName, Address, Value

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset
    from scenarioctl.chains.registry import Chain
    from scenarioctl.runtime.table import RuntimeTable


from typing import TYPE_CHECKING

from scenarioctl.model.json_types import Hex, Meaning
from scenarioctl.operations.results import Result

if TYPE_CHECKING:
    from scenarioctl.model.calls import UnsignedTransaction

T = TypeVar("T")
P = ParamSpec("P")

#: Bytes of a transaction that is read on the event loop, in 20 ms at worst; a longer one is read
#: aside.
_INLINE_BYTES = 4 * 1024


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class BuiltFields:
    """Fields of every operation that answers with a transaction."""

    #: Account that will sign: SS58 or 0x public key.
    sender: Address = ""
    #: Make it as this account of the address book, a multisig or one that has proxies; `sender`
    #: signs.
    acting: ActingName = ""


async def find_fee_asset(app: Application, chain: "Chain", fee_asset: object) -> "Asset | None":
    """Return the asset that *fee_asset* names to pay the fee on *chain*; None if it names none.

    InvalidRequest if no transaction of the chain can name it.
    """
    if fee_asset in ("", None):
        return None
    from scenarioctl.transactions.signing.fee_asset import fee_asset_id

    asset = app.assets.find(chain, fee_asset, field="fee_asset")
    fee_asset_id(await app.runtime(chain), chain, asset)
    return asset


#: Of an amount `max`.
WHOSE_BALANCE = "the account whose balance is read, for amount max"


def parse_sender(
    sender: str, chain: "Chain | None" = None, *, expected: str = "the account that will sign"
) -> bytes:
    """Return the account that will sign on *chain*; without one, an account of 32 bytes."""
    from scenarioctl.chains.addresses import ACCOUNT_ID_32

    if not sender:
        raise InvalidRequest(field="sender", problem="is missing", expected=expected)
    return (ACCOUNT_ID_32 if chain is None else chain.account_format).parse(sender, field="sender")


async def read_aside(
    app: Application, data: bytes | str, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Return what *work* makes of a transaction; where *data*, its bytes or hex, is long, a daemon
    has a thread do it."""
    if len(data) <= _INLINE_BYTES:
        return work(*args, **kwargs)
    return await app.aside(work, *args, **kwargs)


#: Said of several checks, none of which sees what another one's transaction does.
CHECKED_ALONE = (
    "each step was checked by itself, on what the chains hold now and not on what the "
    "steps before it leave"
)


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class LabelFields:
    """What a new scenario is called."""

    #: Name of the scenario, for lists, pictures and commands: up to 200 characters.
    name: str = ""
    #: Give the scenario this tag, a word; may be repeated.
    tags: Annotated[tuple[str, ...], Value("TAG", option="--tag", repeats=True, rare=True)] = ()


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class CreationFields(LabelFields):
    """Fields of operations that store a scenario, checked where that is asked for."""

    #: Simulate it for `sender` on every chain it touches, and create it only if it passes.
    check: bool = False
    #: Account that will sign, for `check`, or of a multisig: SS58 or 0x public key.
    sender: Address = ""
    #: All its transactions are made as this account of the address book, a multisig or one that has
    #: proxies.
    acting: ActingName = ""
    #: Refuse to create it if there is a warning.
    strict: bool = False


class RuntimeUsed(TypedDict):
    """The runtime that a transaction is built for."""

    spec_version: int
    #: Built offline, not checked against a node.
    offline: NotRequired[Literal[True]]
    #: Of a maximum, a swap or a claim: how many endpoints its amounts rest on, as in a check.
    asked: NotRequired[Literal[1, 2]]
    #: Of an amount `max`: what it is, in whole tokens.
    maximum: NotRequired[str]


class Checked(TypedDict):
    """The check of a transaction, if one was asked for."""

    check: NotRequired[CheckAnswer]


def runtime_used(built: "UnsignedTransaction | RuntimeTable", *, offline: bool) -> RuntimeUsed:
    used: RuntimeUsed = {"spec_version": built.spec_version}
    if offline:
        used["offline"] = True
    if isinstance(built, UnsignedTransaction) and built.asked:
        used["asked"] = built.asked
    if isinstance(built, UnsignedTransaction) and built.maximum:
        used["maximum"] = built.maximum
    return used


def check_sender(
    check: bool, sender: str, chain: "Chain | None" = None, *, is_read: bool = True
) -> bytes | None:
    """Return the account of *chain* that a check is made for; None where none is asked for.

    *is_read*: something else than a check depends on the sender, who is refused otherwise.
    """
    if sender and not check and not is_read:
        raise InvalidRequest(
            field="sender",
            value=sender,
            problem="has no effect here",
            expected="check, or no sender",
        )
    return parse_sender(sender, chain) if check else None


def refuse_checked_loss(*, check: bool, accept_loss: bool) -> None:
    """Refuse to accept a loss that the check would refuse nevertheless."""
    if check and accept_loss:
        raise InvalidRequest(
            field="accept_loss",
            problem=(
                "cannot be combined with check, which refuses what would be lost: leave one of "
                "them out"
            ),
        )


def passed_check(transaction: "UnsignedTransaction") -> Checked:
    """Return the check of *transaction*, which must pass; nothing if none was asked for."""
    if transaction.check is None:
        return {}
    from scenarioctl.actions.drafting import require_ok

    require_ok(transaction.check)
    return {"check": transaction.check.answer()}


class BuiltCall(RuntimeUsed, Meaning):
    chain: str
    #: The bare extrinsic, as wallets read it.
    tx: "Hex"
    #: The call alone.
    call_data: "Hex"


def hex_of(transaction: "UnsignedTransaction") -> str:
    """Return the bare extrinsic of *transaction*, as 0x hex."""
    # Who only lists scenarios comes by here too, and needs no codec.
    from scenarioctl.transactions.extrinsic import bare_extrinsic

    return "0x" + bare_extrinsic(transaction.call_data).hex()


async def explain(app: Application, transaction: "UnsignedTransaction") -> Meaning:
    """Return what *transaction* does."""
    # Who wants bytes alone needs none of what reads them.
    from scenarioctl.operations.views import explain_transaction

    chain = app.registry.find(transaction.chain)
    table = await app.runtime(chain)
    return await read_aside(
        app, transaction.call_data, explain_transaction, app, chain, table, transaction.call
    )


async def answer_call(app: Application, transaction: "UnsignedTransaction") -> Result[BuiltCall]:
    """Return the answer with *transaction*."""
    return Result(
        answer={
            "chain": transaction.chain,
            "tx": hex_of(transaction),
            "call_data": "0x" + transaction.call_data.hex(),
            **await explain(app, transaction),
            **runtime_used(transaction, offline=transaction.offline),
        },
        notes=transaction.notes,
        warnings=transaction.warnings,
    )
