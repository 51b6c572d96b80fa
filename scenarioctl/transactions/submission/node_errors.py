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
    (("outdated", '"stale"'), "its nonce is already used"),
    (("valid in the future", '"future"'), "its nonce is ahead of the account's next one"),
    (
        ("bad signature", '"badproof"'),
        "its signature does not match this chain, its runtime or the transaction: make a new payload and sign that",
    ),
    (
        ("inability to pay", '"payment"'),
        "its sender cannot pay the fee, or must keep the existential deposit",
    ),
    (
        ("ancient birth block", '"ancientbirthblock"'),
        "its era has ended, or starts further back than the chain remembers: make a new payload and sign that",
    ),
    (("exhaust the block", '"exhaustsresources"'), "it is too heavy for a block"),
    (("call is not expected", '"call"'), "the runtime does not accept such a call from outside"),
    (("invalid signing address", '"badsigner"'), "its signer is not an account that may sign"),
    (("mandatory", '"badmandatory"', '"mandatoryvalidation"'), "only block authors may make such a call"),
    (("could not lookup", '"cannotlookup"'), "the runtime cannot look up what it needs to validate it"),
    (("unsigned validator", '"nounsignedvalidator"'), "no pallet accepts such a call unsigned"),
    (("custom error", '"custom"'), "a rule of its runtime forbids it, and only that number says which"),
)

#: Number of the JSON-RPC error; what it means.
_NUMBERS = {
    -32601: "the node accepts no transactions: use another endpoint",
    1001: "it is not a valid extrinsic of the node's runtime",
    1002: "the runtime failed while it validated it",
    1010: "the runtime does not accept it",
    1011: "the runtime cannot tell whether it is valid",
    1012: "it was recently found invalid, and the node does not look at it again for about half an hour",
    ALREADY_IMPORTED: "it is already in the pool",
    1014: "the pool holds another transaction with this sender and nonce, and this one has no higher tip: raise the tip by more than 10 %, or wait",
    1015: "it depends on a transaction that depends on it",
    1016: "the pool is full and dropped it at once: send it again later, or with a tip",
    1018: "no node would include it in a block or pass it on",
    1019: "it has nothing that the pool could order it by",
    1020: "the node lost the block against which it validated it: send it again",
    1021: "its nonce is ahead of the account's next one, and this node does not keep such transactions",
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
    return known or "for a reason that only the node's message gives"
