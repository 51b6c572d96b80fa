"""Types that the answers of several operations share.

An answer is a TypedDict, from which `server/decoding.py` makes its JSON schema, and
`cli/drawing.py` its card or table: of the fields with a `Column`, in their order.
"""

from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, NotRequired, TypeAlias, TypedDict


class Column(NamedTuple):
    """How a field of an answer is shown to people; one without it is in the JSON alone."""

    #: Empty: the name of the field, in words.
    label: str = ""
    #: `count`: only how many there are; `seconds`: a duration; `part`: a part of the card;
    #: `unknown`: what null is called.
    form: str = ""
    #: Only on the card of one, and not in a table of several.
    detail: bool = False


SHOWN = Column()

# Text of a certain form: `str` to the type checker; in the schema, text with these attributes.
if TYPE_CHECKING:
    Base64 = str
    Digits = str
    Hex = str
    ScenarioId = str
    Timestamp = str
else:
    # Not `Annotated[str, msgspec.Meta(…)]`: a short command has no time to import msgspec.
    class Base64:
        """Bytes in base64."""

        contentEncoding = "base64"  # noqa: N815 - JSON schema spells it so

    class Digits:
        """A whole number, in the smallest unit."""

        pattern = "^[0-9]+$"

    class Hex:
        """Bytes in hexadecimal, with `0x`."""

        pattern = "^0x([0-9a-f]{2})*$"

    class ScenarioId:
        """The id of a scenario."""

        pattern = "^[A-Za-z0-9_!@#$*+?-]{1,64}$"

    class Timestamp:
        """ISO 8601, UTC, with nanoseconds."""

        pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{9}Z$"


#: `ok`: the beneficiary's credit on the last chain proves it. `refused`: proven not to arrive.
#: `unknown`: neither.
Verdict: TypeAlias = Literal["ok", "refused", "unknown"]


class AmountAnswer(TypedDict):
    value: "Digits"
    asset: str
    #: `1.5 DOT`; null if the asset's decimals are unknown.
    human: Annotated[str | None, Column("amount")]


class BatchPayment(TypedDict):
    """A payment of a batch."""

    account: str
    #: In the smallest unit.
    value: "Digits"
    #: `1.5 DOT`
    amount: str


class Meaning(TypedDict):
    """What a transaction does."""

    #: In one sentence, as far as that is understood.
    says: str
    #: All payments of a batch of so many that the sentence only sums them up.
    payments: NotRequired[list[BatchPayment]]


class BoundAnswer(TypedDict, total=False):
    #: The amount is a bound: a fee of which the chain refunds what isn't used.
    at_most: Annotated[Literal[True], SHOWN]


class StepAnswer(AmountAnswer, BoundAnswer):
    chain: Annotated[str, SHOWN]
    what: Annotated[str, SHOWN]


class HoldingAnswer(AmountAnswer):
    chain: Annotated[str, SHOWN]
    account: Annotated[str, SHOWN]
    role: Annotated[str | None, SHOWN]
    system: bool


class WeightAnswer(TypedDict):
    ref_time: "Digits"
    proof_size: "Digits"


class StopDetails(TypedDict, total=False):
    reason: str
    message: "Hex"
    weight: WeightAnswer


class StopAnswer(StopDetails):
    chain: str
    tried: Literal["call", "message"]
    outcome: Literal["ok", "failed", "unknown"]
    events: list[str]


class ArrivalAnswer(TypedDict):
    computed: AmountAnswer | None
    credited: AmountAnswer | None


class Told(TypedDict):
    """What nodes told."""

    #: How many endpoints it rests on: 2 if a second endpoint of each chain that isn't trusted gives
    #: the same answer, else 1.
    asked: Literal[1, 2]


class CheckAnswer(Told):
    verdict: Verdict
    reasons: list[str]
    warnings: list[str]
    steps: Annotated[list[StepAnswer], SHOWN]
    arrival: ArrivalAnswer
    leaves: list[HoldingAnswer]
    credits: Annotated[list[HoldingAnswer], Column("who gets what")]
    stops: list[StopAnswer]


def timestamp(nanoseconds: int) -> Timestamp:
    """Return nanoseconds since 1970 as the interface writes dates."""
    from datetime import UTC, datetime

    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"
