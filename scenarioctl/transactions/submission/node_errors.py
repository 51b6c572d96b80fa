"""Errors of nodes that refuse a transaction, explained.  To explain another one, add a row."""

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain
    from scenarioctl.chains.rpc_errors import NodeError

#: The pool holds the very same bytes.
ALREADY_IMPORTED = 1013

#: Words of a runtime's `InvalidTransaction`, as nodes spell it out and as its variant's name in JSON; what it means.
_INVALID = (
    (("outdated", '"stale"'), "its nonce is used already"),
    (("valid in the future", '"future"'), "its nonce is ahead of the account's next one"),
    (
        ("bad signature", '"badproof"'),
        "its signature does not fit this chain, its runtime or the transaction: make its payload and sign it again",
    ),
    (
        ("inability to pay", '"payment"'),
        "its sender cannot pay the fee, or must keep the existential deposit",
    ),
    (
        ("ancient birth block", '"ancientbirthblock"'),
        "its era has ended, or starts further back than the chain remembers: make its payload and sign it again",
    ),
    (("exhaust the block", '"exhaustsresources"'), "it is heavier than a block may be"),
    (
        ("call is not expected", '"call"'),
        "the runtime does not let such a call in from outside",
    ),
    (("invalid signing address", '"badsigner"'), "its signer is no account that may sign"),
    (("mandatory", '"badmandatory"', '"mandatoryvalidation"'), "only block authors make such a call"),
    (("could not lookup", '"cannotlookup"'), "the runtime does not find what it would judge it by"),
    (("unsigned validator", '"nounsignedvalidator"'), "no pallet takes such a call unsigned"),
    (("custom error", '"custom"'), "a rule of its own runtime forbids it, known by that number alone"),
)

#: Number of the JSON-RPC error; what it means.
_NUMBERS = {
    -32601: "it takes no transactions, ask another endpoint",
    1001: "it does not read as an extrinsic of its runtime",
    1002: "its runtime failed while judging it",
    1010: "its runtime does not take it",
    1011: "its runtime cannot tell whether it is valid",
    1012: "it was found invalid a short while ago, and such a one is not looked at again for about half an hour",
    ALREADY_IMPORTED: "it waits in the pool already",
    1014: "another transaction with its sender and nonce waits in the pool, and this one has no higher tip: raise the tip by more than a tenth, or wait",
    1015: "it depends on a transaction that depends on it",
    1016: "the pool is full and it was dropped at once: send it again later, or with a tip",
    1018: "nobody would put it into a block, nor pass it on",
    1019: "it provides nothing that the pool could order it by",
    1020: "the node lost the block that it judged it at: send it again",
    1021: "its nonce is ahead of the account's next one, and this node keeps no such transactions",
}


def explain_node_error(chain: "Chain", error: "NodeError") -> str:
    """Return why *chain* does not take a transaction, in one sentence with the node's own words at its end."""
    data = error.data if isinstance(error.data, str) else "" if error.data is None else json.dumps(error.data)
    said = ": ".join(part for part in (error.message, data) if part)[:400]
    return f"{chain.name} refused the transaction, {meaning_of(said, error.number)} (the node said {said!r}, {error.number})"


def meaning_of(said: str, number: object = None) -> str:
    """Return what a node's words mean; for words that are not known, what the number of the error means."""
    words = said.lower()
    if number in (None, 1010, 1011):
        for spellings, meaning in _INVALID:
            if any(spelling in words for spelling in spellings):
                return meaning
    known = _NUMBERS.get(number) if isinstance(number, int) else None
    return known or "for a reason that only its own words tell"
