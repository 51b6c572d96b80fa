"""Whether a chain of config.toml is the parachain that it says: messages go by the para id,
whatever node was asked."""

from hashlib import blake2b
from typing import TYPE_CHECKING

from scenarioctl.chains.trust import is_judged_by_runtime, trust_of
from scenarioctl.errors import ChainRefused, ChainUnreachable, InvalidRequest
from scenarioctl.runtime.scale import Refusal, decode_compact
from scenarioctl.transactions.simulation.runtime_api import Clients, Inconclusive, read_storage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scenarioctl.chains.registry import Chain, Registry
    from scenarioctl.transactions.simulation.trial import Trial

#: Bytes of the parent's hash, with which a header begins.  The compact number of the block follows.
_PARENT = 32


async def check_para_ids(clients: Clients, chains: "Iterable[Chain]", registry: "Registry") -> None:
    """Refuse a way over *chains* if one that its runtime alone judges is another one than its relay
    chain knows by its para id.

    Inconclusive if a chain doesn't tell.
    """
    for chain in chains:
        if is_judged_by_runtime(chain):
            await _check(clients, chain, registry)


async def check_para_ids_on_way(trial: "Trial") -> None:
    """Refuse messages between chains if one without complete trust facts is not the parachain that
    it says."""
    findings, hops = trial.findings, trial.hops
    ends = [
        chain
        for hop in hops
        if hop.message is not None
        for chain in (hop.message.origin, hop.message.destination)
        if chain is not None
    ]
    unanswered = {hop.chain.name for hop in hops if hop.unknown}
    for chain in {each.name: each for each in ends}.values():
        facts = trust_of(chain)
        if facts is not None and not facts.partial:
            continue
        if not chain.genesis:
            findings.unknowns.append(
                f"no genesis of {chain.title} is known, so another chain could answer for "
                f"it; set genesis in [chains.{chain.name}]"
            )
            continue
        try:
            await _check(trial.clients, chain, trial.assets.registry)
        except InvalidRequest as problem:
            findings.refusals.append(str(problem))
        except Inconclusive as problem:
            # What leaves its hop open is said already.
            if chain.name not in unanswered:
                findings.unknowns.append(
                    f"whether the nodes of {chain.title} are those of the parachain "
                    f"{chain.para_id} could not be asked for ({problem})"
                )


async def _check(clients: Clients, chain: "Chain", registry: "Registry") -> None:
    told = await read_storage(clients(chain), "ParachainInfo", "ParachainId")
    if told != chain.para_id:
        raise InvalidRequest(
            field=f"chains.{chain.name}.para_id",
            problem=(
                f"{chain.para_id} is wrong: its nodes say {told}, and messages would go to "
                "another chain"
            ),
        )
    relay = registry.relay_of(chain)
    if relay is None:
        raise Inconclusive(f"the registry has no relay chain of {chain.title}")
    head = await read_storage(clients(relay), "Paras", "Heads", chain.para_id)
    if head is None:
        raise InvalidRequest(
            field=f"chains.{chain.name}.para_id",
            problem=f"{chain.para_id} is wrong: {relay.title} has no parachain with that id",
        )
    try:
        number, _ = decode_compact(head, _PARENT)
        block = await clients(chain).call("chain_getBlockHash", number)
    except (Refusal, ChainUnreachable, ChainRefused) as error:
        raise Inconclusive(
            f"the block of {chain.title} that {relay.title} has could not be found: {error}"
        ) from None
    if block is None:
        raise Inconclusive(
            f"the nodes of {chain.title} don't have its block {number} yet, which {relay.title} has"
        )
    if block != f"0x{blake2b(head, digest_size=32).hexdigest()}":
        raise InvalidRequest(
            field=f"chains.{chain.name}",
            problem=(
                f"is not the parachain {chain.para_id} of {relay.title}: its block {number} is "
                "another one, and messages would go to another chain"
            ),
        )
