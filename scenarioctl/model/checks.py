"""What a check says before a transaction is signed: its verdict, and the amounts on their way."""

from dataclasses import dataclass
from typing import Literal

from scenarioctl.model.amounts import to_whole
from scenarioctl.model.json_types import (
    AmountAnswer,
    BoundAnswer,
    CheckAnswer,
    HoldingAnswer,
    StepAnswer,
    StopAnswer,
    StopDetails,
    Verdict,
)


@dataclass(frozen=True, kw_only=True)
class Amount:
    """An amount of one asset."""

    #: Smallest units.
    value: int
    #: Symbol or id of the asset, or its location.
    asset: str
    #: None where they are not known.
    decimals: int | None = None

    @property
    def human(self) -> str:
        """`1.5 DOT`; empty where the decimals are not known."""
        return (
            "" if self.decimals is None else f"{to_whole(self.value, self.decimals)} {self.asset}"
        )

    def __str__(self) -> str:
        return self.human or f"{self.value} of the smallest unit of {self.asset}"

    def answer(self) -> AmountAnswer:
        return {"value": str(self.value), "asset": self.asset, "human": self.human or None}


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of the amount on its way: it leaves, pays a fee on a hop, or arrives."""

    #: Literal of the chain.
    chain: str
    #: `leaves`, `transaction fee`, `deposit`, `released`, `delivery`, `execution`,
    #: `receiver deposit`, `computed arrival` or `arrives`. Of what is lost: `destroyed`,
    #: `dust`, `locked` or `trapped`. Of a swap: `buys`, `buys about`, `buys at
    #: least`, `pays about` or `pays at most`.
    what: str
    amount: Amount
    #: Whether it is a bound, of which the chain refunds a part.
    at_most: bool = False

    def answer(self) -> StepAnswer:
        bound: BoundAnswer = {"at_most": True} if self.at_most else {}
        return {"chain": self.chain, "what": self.what, **bound, **self.amount.answer()}


@dataclass(frozen=True, kw_only=True)
class Holding:
    """An amount that an account receives or sends."""

    chain: str
    #: SS58 of the chain.
    account: str
    amount: Amount
    #: Role of the account, if known: `the sender`, `the multisig` (once all approve), `the
    #: beneficiary`, `sovereign account of hydraDx`.
    role: str = ""
    #: Whether it is an account of the chain itself, for fees or backing, that the transaction does
    #: not name.
    system: bool = False

    def answer(self) -> HoldingAnswer:
        return {
            "chain": self.chain,
            "account": self.account,
            **self.amount.answer(),
            "role": self.role or None,
            "system": self.system,
        }


@dataclass(frozen=True, kw_only=True)
class Stop:
    """One chain on which the transaction or its message was simulated."""

    chain: str
    tried: Literal["call", "message"]
    outcome: Literal["ok", "failed", "unknown"]
    #: Why not; empty for `ok`.
    reason: str = ""
    #: 0x hex of the message, byte for byte as the chain before it forwards it.
    message: str = ""
    #: As the chain weighs the message.
    weight: tuple[int, int] | None = None
    #: `Pallet.Event` of everything that happened.
    events: tuple[str, ...] = ()

    def answer(self) -> StopAnswer:
        details: StopDetails = {}
        if self.reason:
            details["reason"] = self.reason
        if self.message:
            details["message"] = self.message
        if self.weight is not None:
            details["weight"] = {"ref_time": str(self.weight[0]), "proof_size": str(self.weight[1])}
        return {
            "chain": self.chain,
            "tried": self.tried,
            "outcome": self.outcome,
            **details,
            "events": list(self.events),
        }


@dataclass(frozen=True, kw_only=True)
class Check:
    """The verdict on a transaction before it is signed, with its evidence."""

    verdict: Verdict
    #: Why it is refused or unknown; empty for `ok`.
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    #: The amount less the weights and fees of each hop.
    computed: Amount | None = None
    #: The amount that the dry run of the last hop credits to the beneficiary.
    credited: Amount | None = None
    #: Amounts that leave accounts other than the chains' own, without message delivery fees.
    leaves: tuple[Holding, ...] = ()
    #: Amounts that accounts receive, on every chain.
    credits: tuple[Holding, ...] = ()
    stops: tuple[Stop, ...] = ()
    #: How many endpoints of each chain gave the same verdict: 1 or 2.
    asked: Literal[1, 2] = 1

    def __str__(self) -> str:
        return f"{self.verdict}, {'; '.join(self.reasons)}" if self.reasons else self.verdict

    def answer(self) -> CheckAnswer:
        return {
            "verdict": self.verdict,
            "asked": self.asked,
            "reasons": list(self.reasons),
            "warnings": list(self.warnings),
            "steps": [step.answer() for step in self.steps],
            "arrival": {
                "computed": None if self.computed is None else self.computed.answer(),
                "credited": None if self.credited is None else self.credited.answer(),
            },
            "leaves": [holding.answer() for holding in self.leaves],
            "credits": [holding.answer() for holding in self.credits],
            "stops": [stop.answer() for stop in self.stops],
        }
