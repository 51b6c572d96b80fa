"""Multisigs and proxies on a real runtime: each transaction is drafted by the tool, signed outside,
and played."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from substrateinterface import Keypair

from scenarioctl.application import Application
from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.registry import Chain
from scenarioctl.config import load_settings
from scenarioctl.errors import Conflict, InvalidRequest, NotFound
from scenarioctl.model.acting import MultisigLayer
from scenarioctl.model.calls import Call
from scenarioctl.operations.addresses import AddAddress, add_address
from scenarioctl.operations.builds import (
    BatchCalls,
    BuildCall,
    TransferTokens,
    batch_calls,
    build_call,
    transfer_tokens,
)
from scenarioctl.operations.multisigs import (
    ApproveOperation,
    CancelOperation,
    ExecuteOperation,
    ListOperations,
    OperationRow,
    approve_operation,
    cancel_operation,
    execute_operation,
    list_operations,
)
from scenarioctl.operations.stored_names import perform
from scenarioctl.operations.views import CheckTransaction, check_transaction
from scenarioctl.transactions.call_builder import approve_hash_call
from tests.live.conftest import Live
from tests.live.playing import Played, endow, new_key, play, put
from tests.live.senders import UNIT
from tests.messages import raises, says
from tests.runner import finish

pytestmark = pytest.mark.live
#: What each signatory, and each multisig, begins with.
FUNDS = 100 * UNIT


class Council:
    """Three keys, their multisig of so many, and what they do on the hub of a rig."""

    def __init__(self, app: Application, *, threshold: int = 2) -> None:
        self.app = app
        self.chain: Chain = app.registry.find("liveHub")
        self.keys = [new_key() for _ in range(3)]
        self.name = f"council of {self.keys[0].public_key.hex()[:8]}"
        members = tuple("0x" + key.public_key.hex() for key in self.keys)
        self.account = self.add(name=self.name, threshold=threshold, signatories=members)
        for account in (self.account, *(key.public_key for key in self.keys)):
            endow(app, self.chain, account, FUNDS)
        self.receiver = new_key().public_key

    def add(self, **fields: Any) -> bytes:
        row = finish(perform(self.app, add_address, AddAddress(**fields))).answer
        return bytes.fromhex(row["account"][2:])

    def signer(self, number: int) -> str:
        return f"0x{self.keys[number].public_key.hex()}"

    def free(self, account: bytes) -> int:
        row = finish(self.app.client(self.chain).storage("System", "Account", account))
        return int(row["data"]["free"])

    def pays(self, number: int, acting: str = "", amount: str = "1.5") -> Any:
        """Return the draft that pays the receiver, for the signatory of that number."""
        request = TransferTokens(
            source_chain="liveHub",
            dest_chain="liveHub",
            assetid="KSM",
            amount=amount,
            destination_address=format_account(self.receiver, self.chain.ss58_prefix),
            acting=acting or self.name,
            sender=self.signer(number),
        )
        return finish(perform(self.app, transfer_tokens, request)).answer

    def verdict(self, number: int, tx: str) -> str:
        request = CheckTransaction(chain="liveHub", tx=tx, sender=self.signer(number))
        return str(finish(perform(self.app, check_transaction, request)).answer["verdict"])

    def plays(self, number: int, tx: str) -> Played:
        table = finish(self.app.client(self.chain).table())
        from scenarioctl.operations.views import read_unsigned

        call, _ = read_unsigned(table, self.chain, bytes.fromhex(tx[2:]))
        return play(self.app, self.chain, call, self.keys[number])

    def open(self, *calls: str) -> list[OperationRow]:
        request = ListOperations(acting=self.name, chains=("liveHub",), calls=calls)
        rows: list[OperationRow] = finish(perform(self.app, list_operations, request)).answer[
            "operations"
        ]
        return rows

    def answers(self, kind: str, number: int, call_hash: str, **more: Any) -> Any:
        fields: dict[str, Any] = {
            "acting": self.name,
            "call_hash": call_hash,
            "chain": "liveHub",
            "sender": self.signer(number),
        }
        fields |= more
        if kind == "approve":
            return finish(perform(self.app, approve_operation, ApproveOperation(**fields))).answer
        if kind == "execute":
            return finish(perform(self.app, execute_operation, ExecuteOperation(**fields))).answer
        return finish(perform(self.app, cancel_operation, CancelOperation(**fields))).answer


@pytest.fixture(scope="module")
def app(
    relay: Live, asset_hub: Live, dex: Live, live_config: Path, tmp_path_factory: Any
) -> Iterator[Application]:
    assert relay.endpoint and asset_hub.endpoint and dex.endpoint
    store = tmp_path_factory.mktemp("store") / "s.db"
    app = Application(load_settings({"config": str(live_config), "store": str(store)}, {}))
    yield app
    finish(app.close())


def test_two_of_three_open_and_run_a_transfer(app: Application) -> None:
    council = Council(app)

    opened = council.pays(0)
    assert council.verdict(0, opened["tx"]) == "ok"
    assert council.plays(0, opened["tx"]).outcome == "executed"
    (row,) = council.open()
    assert row["says"] == says("1.5 KSM")
    assert (len(row["approved"]), row["threshold"], len(row["missing"])) == (1, 2, 2)
    with raises(Conflict, says("approved", council.name)):
        council.pays(0)
    # Drafting the same once more is the approval that is missing.
    again = council.pays(1)
    run = council.answers("execute", 1, row["call_hash"])
    assert run["tx"] == again["tx"]
    assert council.verdict(1, run["tx"]) == "ok"
    assert council.plays(1, run["tx"]).outcome == "executed"

    assert council.free(council.receiver) == 3 * UNIT // 2
    assert council.free(council.account) == FUNDS - 3 * UNIT // 2
    assert council.open() == []
    with raises(NotFound, says(council.name, row["call_hash"])):
        council.answers("approve", 2, row["call_hash"])


def test_three_of_three_approve_before_the_last_runs_it(app: Application) -> None:
    council = Council(app, threshold=3)
    assert council.plays(2, council.pays(2)["tx"]).outcome == "executed"
    (row,) = council.open()

    with raises(Conflict, says("1 more", council.name)):
        council.answers("execute", 0, row["call_hash"])
    assert (
        council.plays(0, council.answers("approve", 0, row["call_hash"])["tx"]).outcome
        == "executed"
    )
    assert council.free(council.receiver) == 0
    assert (
        council.plays(1, council.answers("execute", 1, row["call_hash"])["tx"]).outcome
        == "executed"
    )

    assert council.free(council.receiver) == 3 * UNIT // 2


def test_a_batch_of_sixty_runs_with_the_weight_that_its_last_approval_names(
    app: Application,
) -> None:
    council = Council(app)
    receivers = [new_key().public_key for _ in range(60)]
    paid = tuple(
        finish(
            perform(
                app,
                build_call,
                BuildCall(
                    chain="liveHub",
                    pallet="Balances",
                    method="transfer_keep_alive",
                    args=("0x" + each.hex(), str(UNIT + place)),
                ),
            )
        ).answer["tx"]
        for place, each in enumerate(receivers)
    )
    request = BatchCalls(chain="liveHub", calls=paid, acting=council.name, sender=council.signer(0))
    assert (
        council.plays(0, finish(perform(app, batch_calls, request)).answer["tx"]).outcome
        == "executed"
    )
    (row,) = council.open()

    assert (
        council.plays(1, council.answers("execute", 1, row["call_hash"])["tx"]).outcome
        == "executed"
    )

    assert [council.free(each) for each in receivers] == [UNIT + place for place in range(60)]


def test_only_who_opened_it_cancels_it_and_gets_the_deposit_back(app: Application) -> None:
    council = Council(app)
    before = council.free(council.keys[0].public_key)
    council.plays(0, council.pays(0)["tx"])
    (row,) = council.open()
    held = before - council.free(council.keys[0].public_key)

    with raises(Conflict, says("only", council.name)):
        council.answers("cancel", 1, row["call_hash"])
    assert (
        council.plays(0, council.answers("cancel", 0, row["call_hash"])["tx"]).outcome == "executed"
    )

    assert council.open() == []
    lost = before - council.free(council.keys[0].public_key)
    assert held > int(row["deposit"]["value"]) > lost > 0


def test_a_call_that_only_its_hash_is_known_of_is_approved_blindly_or_not_at_all(
    app: Application,
) -> None:
    council = Council(app, threshold=3)
    client = app.client(council.chain)
    table = finish(client.table())
    secret = Call(pallet="System", method="remark", args={"remark": b"nobody knows"})
    from scenarioctl.actions.acting import hash_call
    from scenarioctl.operations.acting_accounts import find_acting

    (layer,) = finish(find_acting(app, council.name, field="as")).layers
    assert isinstance(layer, MultisigLayer)
    opened: Any = None
    first = approve_hash_call(
        hash_call(table, secret), layer, council.keys[0].public_key, table, opened
    )
    assert play(app, council.chain, first, council.keys[0]).outcome == "executed"

    (row,) = council.open()
    assert (row["says"], row["call"]) == ("", None)
    with raises(InvalidRequest, says("call_data", "blind")):
        council.answers("approve", 1, row["call_hash"])
    blind = council.answers("approve", 1, row["call_hash"], blind=True)
    assert council.plays(1, blind["tx"]).outcome == "executed"
    with raises(InvalidRequest, says("call_data", "nobody")):
        council.answers("execute", 2, row["call_hash"])
    data = "0x" + table.encode_call(secret).hex()
    with raises(InvalidRequest, says("another call", row["call_hash"])):
        council.answers("execute", 2, row["call_hash"], call_data="0x0000086869")
    assert [each["call"] for each in council.open(data)] == [data]
    assert (
        council.plays(
            2, council.answers("execute", 2, row["call_hash"], call_data=data)["tx"]
        ).outcome
        == "executed"
    )


def endowed_vault(council: Council, kind: str, *, delay: int = 0) -> bytes:
    """Return an account without a key, whose proxy of that type is the council."""
    vault: bytes = new_key().public_key
    endow(council.app, council.chain, vault, FUNDS)
    entry = [{"delegate": council.account, "proxy_type": kind, "delay": delay}]
    put(council.app, council.chain, "Proxy", "Proxies", vault, value=[entry, 0])
    return vault


def test_a_treasury_behind_a_proxy_pays_once_the_council_approves(app: Application) -> None:
    council = Council(app)
    vault = endowed_vault(council, "Any")
    name = f"treasury of {council.name}"
    council.add(name=name, proxy_of="0x" + vault.hex(), type="Any", through=council.name)

    assert council.plays(0, council.pays(0, name)["tx"]).outcome == "executed"
    (row,) = council.open()
    assert row["says"] == says("1.5 KSM", format_account(vault, council.chain.ss58_prefix))
    assert (
        council.plays(1, council.answers("execute", 1, row["call_hash"])["tx"]).outcome
        == "executed"
    )

    assert (council.free(council.receiver), council.free(vault)) == (
        3 * UNIT // 2,
        FUNDS - 3 * UNIT // 2,
    )
    assert council.free(council.account) == FUNDS


@pytest.mark.parametrize(
    ("kind", "given", "delay", "words"),
    [
        ("NonTransfer", "", 0, ("may not make this call", "CallFiltered")),
        ("NonTransfer", "Any", 0, ("no proxy", "NonTransfer")),
        ("Any", "", 100, ("announce", "100 blocks")),
    ],
    ids=["filtered", "of another type", "announced"],
)
def test_a_proxy_that_lets_nothing_through_is_refused_before_it_is_signed(
    app: Application, kind: str, given: str, delay: int, words: tuple[str, ...]
) -> None:
    council = Council(app)
    vault = endowed_vault(council, kind, delay=delay)
    name = f"vault of {council.name}"
    council.add(name=name, proxy_of="0x" + vault.hex(), type=given, through=council.name)

    with raises(InvalidRequest, says(*words)):
        council.pays(0, name)


def test_the_check_of_bytes_as_another_account_says_what_the_chain_then_does(
    app: Application,
) -> None:
    council = Council(app)
    vault = endowed_vault(council, "Any")
    key: Keypair = council.keys[0]
    put(
        app,
        council.chain,
        "Proxy",
        "Proxies",
        vault,
        value=[[{"delegate": key.public_key, "proxy_type": "Any", "delay": 0}], 0],
    )
    name = f"own vault of {council.name}"
    council.add(name=name, proxy_of="0x" + vault.hex())
    for amount, verdict in (("1.5", "ok"), ("1000", "refused")):
        tx = council.pays(0, name, amount)["tx"]
        table = finish(app.client(council.chain).table())
        from scenarioctl.operations.views import read_unsigned

        call, _ = read_unsigned(table, council.chain, bytes.fromhex(tx[2:]))
        (inner,) = [call.args["call"]["Balances"]]
        plain = table.encode_call(
            Call(pallet="Balances", method=next(iter(inner)), args=next(iter(inner.values())))
        )
        request = CheckTransaction(
            tx="0x" + plain.hex(), chain="liveHub", sender=council.signer(0), acting=name
        )

        answer = finish(perform(app, check_transaction, request)).answer

        assert (answer["verdict"], answer["txdata"]) == (verdict, tx)
        assert council.plays(0, tx).outcome == ("executed" if verdict == "ok" else "partly")
    assert council.free(council.receiver) == 3 * UNIT // 2
