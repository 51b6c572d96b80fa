"""What follows from the trust facts: which chain takes which asset from which other one, and what
pays there.

    .venv/bin/python -m tests.trust_reach

writes `tests/data/vectors/trust.json` anew.  A line that appears lets tokens go where they went
never before: add none without a source for the fact.
"""

import json
from pathlib import Path

from scenarioctl.chains import trust
from scenarioctl.chains.registry import Chain, Registry
from scenarioctl.chains.trust import accepts_reserve, accepts_teleport, foreign_reserve

PATH = Path(__file__).parent / "data" / "vectors" / "trust.json"
#: Paseo has no system parachain that is built in.
_PEOPLE = {"role": "system", "relay": "paseo", "para_id": 1004, "symbol": "PAS", "decimals": 10}
REGISTRY = Registry({"people_paseo": _PEOPLE})
_TOKEN = "AccountKey20(0x7fc66500c84a76ad7e9c93437bfc5ac33e2ddae9)"
#: Assets by their location seen from the relay chain of the chain that takes them.
ASSETS = (
    "",
    "Parachain(1000)",
    "Parachain(1000)/PalletInstance(50)/GeneralIndex(1984)",
    "Parachain(1004)/GeneralIndex(0)",
    "Parachain(2000)/GeneralKey(0x0000)",
    "Parachain(2000)/GeneralKey(0x0080)",
    "Parachain(2001)/GeneralKey(0x0001)",
    "Parachain(2001)/GeneralKey(0x0104)",
    "Parachain(2006)",
    "Parachain(2007)",
    "Parachain(2030)/GeneralKey(0x0001)",
    "Parachain(2030)/GeneralKey(0x0900)",
    "Parachain(2013)",
    "Parachain(2034)/GeneralIndex(0)",
    "Parachain(2034)/GeneralIndex(222)",
    "Parachain(2037)",
    "Parachain(2043)/PalletInstance(10)",
    "Parachain(3388)",
    "Parachain(2090)/GeneralIndex(0)",
    "Parachain(2094)/PalletInstance(10)",
    "Parachain(2046)/PalletInstance(5)",
    "Parachain(3338)",
    "Parachain(3369)",
    *(
        f"../GlobalConsensus({network}){rest}"
        for network in ("Polkadot", "Kusama", "Ethereum:1")
        for rest in ("", f"/{_TOKEN}", "/Parachain(1000)/PalletInstance(50)/GeneralIndex(1984)")
    ),
)


def receivers() -> list[Chain]:
    """Return the chains that facts are stated of."""
    return [chain for chain in REGISTRY.all() if trust.trust_of(chain) is not None]


def reach() -> list[str]:
    """Return what follows, in lines."""
    return [line for receiver in receivers() for line in reach_of(receiver)]


def reach_of(receiver: Chain) -> list[str]:
    """Return what follows for *receiver*, in lines that begin with its name."""
    senders = receivers()
    lines = _stated(receiver)
    for identity in ASSETS:
        reserve = foreign_reserve(receiver, identity)
        if reserve:
            lines.append(f"{receiver.name} backs {identity} by {reserve}")
        for sender in senders:
            lines += _taken(receiver, identity or "the relay chain's asset", identity, sender)
    return lines


def _taken(receiver: Chain, asset: str, identity: str, sender: Chain) -> list[str]:
    facts = trust.trust_of(receiver)
    assert facts is not None
    found = []
    if accepts_reserve(receiver, identity, sender, REGISTRY):
        found.append("as its reserve")
    # One side alone: the other may refuse.
    if trust._accepts(facts.teleports, receiver, identity, sender, REGISTRY):
        found.append("as a teleport")
    if accepts_teleport(receiver, identity, sender, REGISTRY):
        found.append("as a teleport that can be sent")
    return [f"{receiver.name} takes {asset} from {sender.name} {how}" for how in found]


def _stated(chain: Chain) -> list[str]:
    """Return the facts from which nothing follows here, as they are stated."""
    facts = trust.trust_of(chain)
    assert facts is not None
    asked = [
        f"{chain.name} asks {row.decided_by} about {row.asset} from {row.sender}"
        for row in (*facts.reserves, *facts.teleports)
        if row.decided_by
    ]
    sends = "sends" if facts.sends_teleports else "doesn't send"
    more = ", and may take more" if facts.partial else ""
    refused = [
        f"{chain.name} must not get {row.asset} from {row.sender} ({row.form}): {row.reason}"
        for row in facts.refused
    ]
    return [
        (
            f"{chain.name} is of the kind {facts.kind}, sees its asset at {facts.native}, "
            f"takes fees in {facts.execution_fees} and {sends} teleports{more}"
        ),
        *asked,
        *refused,
    ]


if __name__ == "__main__":
    PATH.write_text(json.dumps(reach(), indent=0) + "\n")
