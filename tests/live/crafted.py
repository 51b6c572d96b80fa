"""A crafted case, checked and then executed: what the check says must be what the chains do."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from scenarioctl.application import Application
from scenarioctl.chains.addresses import parse_account
from scenarioctl.config import load_settings
from scenarioctl.model.checks import Check, Holding
from scenarioctl.transactions.simulation.runtime_api import amount_of
from tests.live.cases import Case
from tests.live.conftest import ASSETS
from tests.live.stage import Stage
from tests.live.world import World
from tests.runner import finish

#: Roles of accounts that get something in every block, or pay for it.
_EVERYWHERE = ("the sender", "collators' pot", "treasury")


def open_stage(config: Path, mode: str, names: list[str]) -> Iterator[Stage]:
    """Give the chains *names* of *config*, made ready for the cases of *mode*."""
    app = Application(load_settings({"config": str(config)}, {}))
    try:
        stage = Stage(World(app, names))
        stage.prepare(mode)
        yield stage
    finally:
        finish(app.close())


def play_case(stage: Stage, case: Case) -> None:
    world = stage.world
    cast, key = stage.cast(case)
    try:
        case.prepare(world, cast)
        world.settle(0.2)
        chain, call = world.chain(case.chain), case.call(cast)
        check = stage.check(
            case.chain, "0x" + world.table(chain).encode_call(call).hex(), cast.sender
        )
        case.meanwhile(world, cast)
        before = _held(world, check)
        outcome = world.submit(chain, call, key)
        after = _held(world, check)
    finally:
        case.restore(world, cast)

    print(
        f"\n{case.chain[4:]} {case.name}: {check.verdict}, {outcome.real}; "
        f"{'; '.join((*check.reasons, *check.warnings))}"
    )
    words = " ".join((*check.reasons, *check.warnings, *(str(step.amount) for step in check.steps)))
    assert check.verdict in case.verdicts
    assert any(case.reason in reason for reason in (check.reasons or ("",)))
    if check.verdict != "refused":
        assert case.line in words
        receivers = [each.account for each in check.credits]
        assert case.names is None or world.is_named(case.names(cast), f"{words} {receivers}")
    if check.verdict == "ok":
        assert outcome.real == "arrives"
        if not _waits(check):
            assert {key: after[key] - before[key] for key in before} == _stated(check, before)


def _held(world: World, check: Check) -> dict[Holding, int]:
    """Return what each receiver holds, of the assets whose balance can be read here."""
    found = {each: _balance(world, each) for each in check.credits if not _is_apart(each)}
    return {each: amount for each, amount in found.items() if amount is not None}


def _is_apart(holding: Holding) -> bool:
    return holding.system or holding.role in _EVERYWHERE


def _stated(check: Check, told: Mapping[Holding, int]) -> dict[Holding, int]:
    """Return what *check* says of each receiver of *told*: all that one gets of an asset."""
    return {
        each: sum(
            other.amount.value
            for other in check.credits
            if (other.chain, other.account, other.amount.asset)
            == (each.chain, each.account, each.amount.asset)
        )
        for each in told
    }


def _balance(world: World, holding: Holding) -> int | None:
    chain = world.chain(holding.chain)
    client = world.app.client(chain)
    account = parse_account(holding.account, field="account")
    if holding.amount.asset == amount_of(world.app.assets.native(chain), 0).asset:
        return int(finish(client.storage("System", "Account", account))["data"]["free"])
    listed = [world.app.assets.find(chain, row["id"]) for row in ASSETS.get(chain.name, ())]
    asset = next(
        (each for each in listed if amount_of(each, 0).asset == holding.amount.asset), None
    )
    if asset is None:
        return None
    if asset.kind == "tokens":
        return int(finish(client.storage("Tokens", "Accounts", account, int(asset.id)))["free"])
    entry = finish(client.storage("Assets", "Account", int(asset.id), account))
    return 0 if entry is None else int(entry["balance"])


def _waits(check: Check) -> bool:
    """Tell whether the call waits for others, who approve it."""
    return any("Multisig.NewMultisig" in stop.events for stop in check.stops)
