"""Transactions that one account makes as another: `--as NAME`, of a multisig or an account that has
proxies."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from substrateinterface import Keypair

from scenarioctl.actions.acting import hash_call
from scenarioctl.application import Application
from scenarioctl.config import load_settings
from scenarioctl.errors import Conflict, InvalidRequest, ScenarioctlError
from scenarioctl.model.acting import MultisigLayer, multisig, read_acting
from scenarioctl.model.calls import Call
from scenarioctl.operations.acting_accounts import find_acting
from scenarioctl.operations.addresses import AddAddress, add_address
from scenarioctl.operations.builds import BuildCall, build_call
from scenarioctl.operations.multisigs import (
    ApproveOperation,
    ListOperations,
    approve_operation,
    list_operations,
    read_state,
)
from scenarioctl.operations.stored_names import perform
from scenarioctl.runtime.scale import encode_compact
from scenarioctl.runtime.storage_keys import storage_key
from scenarioctl.transactions.call_builder import multisig_call
from tests.blocks import block_hash, block_of, header_of, number_of
from tests.canned import ALICE_KEY, BOB_KEY
from tests.conftest import Run
from tests.messages import raises, says
from tests.network import HEAD, FakeChain, FakeNetwork, call_tried
from tests.node import Refusal
from tests.runner import finish

ALICE, BOB, CHARLIE = (
    Keypair.create_from_uri(f"//{name}").ss58_address for name in ("Alice", "Bob", "Charlie")
)
#: As polkadot.js Apps shows it for two of the three.
COUNCIL = "5DjYJStmdZ2rcqXbXGX7TW85JsrW6uG4y9MUcLq2BoPMpRA7"
VAULT = "0x" + "5c" * 31 + "01"
#: What a runtime made as Alice in the extrinsic 2 of that block: the type by its number, the index,
#: the account. It is that of Rococo's Asset Hub, version 900 (`tools/registry_node`).
PURE = [
    (2, 0, 0, "d969376cc4b91a593871526e0d76f57a40f1dfb524ae22a2a74b232c53acf5aa"),
    (4, 1, 0, "654040a89040c1fa7deb9038aad02949719db9ef2efdd28fb56eeb7bc1d110d1"),
    (6, 0, 7, "8362bdacb5d96053586f51261b0f1a3e4be9daf8b70f09ea7b6f9f30ca193042"),
    (8, 6, 65535, "b4ab2d4b00fe9f5d3374637397e28cce6032a95ac97c944aac604bfabefb7b52"),
]
#: An operation of the council, and what the events say that end it.
CALL_HASH = bytes([7] * 32)
END = {"timepoint": {"height": 60, "index": 0}, "call_hash": CALL_HASH}
ENDS: dict[str, dict[str, Any]] = {
    "MultisigExecuted": {"approving": BOB_KEY, "result": {"Err": "CannotLookup"}},
    "MultisigCancelled": {"cancelling": BOB_KEY},
}
TRANSFER = (
    *("--from", "assetHub", "--to", "assetHub", "--asset", "DOT", "--amount", "1"),
    *("--to-address", "Bob"),
)


@pytest.fixture
def book(scenarioctl: Run) -> Run:
    """A command line whose address book has Alice, Bob, their council with Charlie, and the
    treasury that it is the proxy of."""
    for line in (
        ("Alice", ALICE),
        ("Bob", BOB),
        ("council", "--multisig", "2", f"Alice,Bob,{CHARLIE}"),
        ("treasury", "--proxy-of", VAULT, "--type", "Any", "--through", "council"),
    ):
        assert scenarioctl("address", "add", *line).code == 0
    return scenarioctl


def layers_of(call: dict[str, Any]) -> list[str]:
    """Return the calls around the innermost one, and it, outermost first."""
    found = [f"{call['pallet']}.{call['method']}"]
    inner = call["args"].get("call")
    return found + (layers_of(inner) if isinstance(inner, dict) else [])


def decoded(run: Run, tx: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(
        run("--offline", "tx", "decode", tx, "--chain", "assetHub").out
    )
    return answer


WRAPPED = ["Multisig.as_multi", "Proxy.proxy", "Balances.transfer_keep_alive"]


class TestAddressBook:
    def test_the_account_of_a_multisig_is_computed_whatever_the_order_of_its_signatories(
        self, book: Run
    ) -> None:
        shown = json.loads(book("address", "show", "council", "--json").out)

        assert COUNCIL in {each["address"] for each in shown["addresses"]}
        again = multisig(
            [Keypair(ss58_address=each).public_key for each in (CHARLIE, BOB, ALICE)], 2
        )
        assert "0x" + again.account.hex() == shown["account"]

    @pytest.mark.parametrize(
        ("line", "account"),
        [
            (("--at", "2-2"), PURE[0][-1]),
            (("--at", "6-2", "--index", "7", "--type", "any", "--through", "council"), PURE[2][-1]),
            (("--at", "4-2", "--type", "nontransfer", "--chain", "polkadot"), PURE[1][-1]),
        ],
    )
    def test_the_account_of_a_pure_proxy_is_computed(
        self, book: Run, line: tuple[str, ...], account: str
    ) -> None:
        ended = book("--offline", "--json", "address", "add", "vault", "--pure-of", "Alice", *line)

        row = json.loads(ended.out)
        assert (row["account"], row["layers"][0]["proxy_of"]) == ("0x" + account, "0x" + account)
        assert row["acting"].startswith("a proxy")
        # On an Asset Hub another block counts than the one that the transaction is in: nobody may
        # trust it unseen.
        assert ended.err.splitlines()[-1] == says("computed", "Asset Hub", "relay chain")

    @pytest.mark.parametrize(
        ("line", "words"),
        [
            (("--pure-of", "Alice"), ("at", "tx status")),
            (("--pure-of", "Alice", "--at", "2"), ("at", "'2'")),
            (("--pure-of", "Alice", "--at", "2-2", "--index", "65536"), ("index", "65536")),
            (("--pure-of", "Alice", "--at", "2-2", "--proxy-of", VAULT), ("pure_of", "proxy_of")),
            (
                ("--pure-of", "Alice", "--at", "2-2", "--type", "NonTransfer"),
                ("chain", "NonTransfer"),
            ),
            (
                ("--pure-of", "Alice", "--at", "2-2", "--type", "Anny", "--chain", "polkadot"),
                ("type", "Anny", "Any"),
            ),
            (("--proxy-of", VAULT, "--index", "0"), ("index", "pure_of")),
            (("--multisig", "3", "Alice,Bob"), ("threshold", "3", "1 to 2")),
            (("--multisig", "two", "Alice,Bob"), ("multisig", "two")),
            (("--multisig", "1", "Alice"), ("signatories", "1 accounts", "2 to 100")),
            (("--multisig", "2", "Alice,Alice,Bob"), ("signatories", "twice")),
            (("--multisig", "2", "Alice,Bub"), ("signatories", "Bub", "Bob")),
            (("--multisig", "2", "Alice,Bob", "--proxy-of", VAULT), ("proxy_of", "signatories")),
            (
                ("--multisig", "2", "Alice,Bob", "--through", "council"),
                ("through", "council", "signatory"),
            ),
            ((BOB, "--multisig", "2", f"Alice,{CHARLIE}"), ("address", "another account")),
        ],
    )
    def test_what_makes_no_account_is_refused(
        self, book: Run, line: tuple[str, ...], words: tuple[str, ...]
    ) -> None:
        ended = book("--offline", "address", "add", "new", *line)

        assert (ended.code, ended.err.splitlines()[-1]) == (2, says(*words))


def polkadot(address: str) -> str:
    from scenarioctl.chains.addresses import format_account

    return format_account(Keypair(ss58_address=address).public_key, 0)


class TestBuilding:
    def test_a_transfer_is_wrapped_in_order(self, book: Run) -> None:
        ended = book(
            "--offline",
            "--json",
            "tx",
            "transfer",
            *TRANSFER,
            "--as",
            "treasury",
            "--sender",
            "Alice",
        )

        answer = json.loads(ended.out)
        assert layers_of(decoded(book, answer["tx"])["call"]) == WRAPPED
        assert answer["says"] == says("2 of them", "1 DOT")

    @pytest.mark.parametrize(
        ("line", "code", "words"),
        [
            (("--as", "treasury"), 2, ("sender", "missing", "signatory")),
            (("--as", "treasury", "--sender", VAULT), 2, ("sender", "signatory")),
            (("--as", "Bob"), 2, ("as", "Bob", "sender")),
            (("--as", "treasure"), 3, ("as", "treasure", "treasury")),
        ],
    )
    def test_who_cannot_act_is_told_why(
        self, book: Run, line: tuple[str, ...], code: int, words: tuple[str, ...]
    ) -> None:
        ended = book("--offline", "tx", "transfer", *TRANSFER, *line)

        assert (ended.code, ended.err) == (code, says(*words))

    def test_a_payload_wraps_the_transaction_that_it_is_given(self, book: Run) -> None:
        note = book("--offline", "tx", "call", "assetHub", "System", "remark", "hi").out.strip()
        line = (
            *("--offline", "--json", "tx", "payload", note, "--chain", "assetHub"),
            *("--as", "council"),
        )

        answer = json.loads(book(*line, "--sender", "Alice", "--nonce", "0").out)

        assert layers_of(decoded(book, answer["signer_payload"]["method"])["call"]) == [
            "Multisig.as_multi",
            "System.remark",
        ]


class TestOpenOperations:
    """A board whose signatories are the council, Bob and Dave, and which has a remark open on Asset
    Hub."""

    CALL = Call(pallet="System", method="remark", args={"remark": b"hello"})
    DAVE = bytes([4] * 32)

    @pytest.fixture
    def app(self, network: FakeNetwork) -> Iterator[Application]:
        app = Application(load_settings({"config": str(network.config)}, {}))
        council = AddAddress(name="council", threshold=2, signatories=(ALICE, BOB, CHARLIE))
        members = (COUNCIL, BOB, "0x" + self.DAVE.hex())
        board = AddAddress(name="board", threshold=2, signatories=members, through="council")
        for each in (council, board):
            finish(add_address(app, each))
        yield app
        finish(app.close())

    def open(
        self,
        app: Application,
        chain: FakeChain,
        *approvals: bytes,
        name: str = "board",
        hashed: bytes = b"",
        height: int = 90,
    ) -> str:
        """Let a remark of the board, or a call of that hash, be open, and return its hash."""
        layer = finish(find_acting(app, name, field="as")).layers[0]
        hashed = hashed or hash_call(chain.table, self.CALL)
        when = {"height": height, "index": 0}
        row = {"when": when, "deposit": 1, "depositor": approvals[0], "approvals": list(approvals)}
        chain.store("Multisig", "Multisigs", layer.account, hashed, value=row)
        return "0x" + hashed.hex()

    def test_who_approves_through_another_multisig_opens_an_operation_of_that_one(
        self, app: Application, network: FakeNetwork
    ) -> None:
        hub = network.chains["assetHub"]
        weight = {"ref_time": 1000, "proof_size": 100}
        info = {"weight": weight, "class": "Normal", "partial_fee": 1}
        hub.api["TransactionPaymentApi_query_info"] = info
        request = ApproveOperation(
            acting="board",
            call_hash=self.open(app, hub, self.DAVE),
            chain="assetHub",
            call_data="0x" + hub.table.encode_call(self.CALL).hex(),
            sender=ALICE,
        )

        notes = finish(perform(app, approve_operation, request)).notes

        assert notes == (
            says("enough of board"),
            f"It is made as council, {polkadot(COUNCIL)}.",
            says("operation of council", "held from the signer"),
        )

    def listed(self, app: Application, *chains: str, calls: tuple[str, ...] = ()) -> Any:
        request = ListOperations(acting="council", chains=chains, calls=calls)
        return finish(perform(app, list_operations, request))

    @pytest.mark.parametrize(
        ("with_call", "height", "words"),
        [
            (False, 50, ("extrinsic 0 of block 50", "hash alone")),
            (True, 30_000_000, ("30000000", "Polkadot", "relay chain")),
            (True, 49, ("block 49", "can't be read")),
            (True, 50, ()),
        ],
        ids=["only its hash", "blocks of another chain", "a block that is gone", "known"],
    )
    def test_it_is_said_why_nobody_knows_a_call(
        self,
        app: Application,
        network: FakeNetwork,
        with_call: bool,
        height: int,
        words: tuple[str, ...],
    ) -> None:
        relay = network.chains["polkadot"]
        layer = finish(find_acting(app, "council", field="as")).layers[0]
        assert isinstance(layer, MultisigLayer)
        call = multisig_call(self.CALL, layer, BOB_KEY, relay.table)
        body = b"\x04" + relay.table.encode_call(call)
        extrinsic = "0x" + (encode_compact(len(body)) + body).hex()
        extrinsics = [extrinsic] if with_call else []
        known: dict[tuple[Any, ...], str] = {
            (0,): app.registry.find("polkadot").genesis,
            (50,): block_hash(50, extrinsics),
        }
        answers: dict[str, Any] = {
            "chain_getBlockHash": lambda *given: known.get(given, HEAD),
            "chain_getHeader": lambda *given: header_of(given[0] if given else HEAD),
            "chain_getBlock": lambda given: block_of(given, extrinsics),
        }
        relay.node.answers |= answers
        self.open(app, relay, BOB_KEY, name="council", height=height)

        (row,) = self.listed(app, "polkadot").answer["operations"]

        assert row["unknown"] == (says(*words) if words else "")
        assert bool(row["says"]) == (not words)

    @pytest.mark.parametrize(
        ("more", "error", "words"),
        [
            ({"blind": True}, Conflict, ("approved", "of all", "1 of 3")),
            ({"call_data": "0xff00"}, InvalidRequest, ("call_data", "255")),
        ],
    )
    def test_an_approval_that_the_chain_would_refuse_is_not_built(
        self,
        app: Application,
        network: FakeNetwork,
        more: dict[str, Any],
        error: type[ScenarioctlError],
        words: tuple[str, ...],
    ) -> None:
        finish(
            add_address(app, AddAddress(name="all", threshold=3, signatories=(ALICE, BOB, CHARLIE)))
        )
        call_hash = self.open(app, network.chains["assetHub"], ALICE_KEY, name="all")
        request = ApproveOperation(
            acting="all", call_hash=call_hash, chain="assetHub", sender=ALICE, **more
        )

        with raises(error, says(*words)):
            finish(perform(app, approve_operation, request))

    def ended(
        self, app: Application, chain: FakeChain, event: Any, *, opened: int, kept: int
    ) -> bytes:
        """Let an operation of the council be open from block *opened* to 80, where *event* ends it;
        the node keeps the state of the blocks from *kept*. Return the council's account."""
        layer = finish(find_acting(app, "council", field="as")).layers[0]
        key = storage_key(chain.table, "Multisig", "Multisigs", [layer.account, CALL_HASH]).hex
        events = storage_key(chain.table, "System", "Events", ())
        told = {"Multisig": {event: {**END, "multisig": layer.account, **ENDS[event]}}}
        record = {"phase": {"ApplyExtrinsic": 1}, "event": told, "topics": []}
        written = chain.table.encode(events.entry.value_type, [record])
        body = ["0x00", "0x280403000b"]

        def storage(asked: str, block: str = HEAD) -> Any:
            number = number_of(block)
            if number < kept:
                raise Refusal(4003, "Client error: State already discarded")
            if asked == events.hex:
                return "0x" + (written.hex() if number == 80 else "00")
            return "0x00" if asked == key and opened <= number < 80 else None

        def body_of(number: int) -> list[str]:
            return body if number == 80 else []

        genesis = app.registry.find(chain.name).genesis
        chain.node.answers |= {
            "chain_getBlockHash": lambda number=100: (
                block_hash(number, body_of(number)) if number else genesis
            ),
            "chain_getHeader": lambda block=HEAD: header_of(block),
            "chain_getFinalizedHead": lambda: block_hash(90),
            "chain_getBlock": lambda block: block_of(block, body_of(number_of(block))),
            "state_getStorage": storage,
        }
        return layer.account

    @pytest.mark.parametrize(
        ("event", "given", "state", "words"),
        [
            ("MultisigExecuted", {}, "executed", ("block 80", "ran", polkadot(BOB))),
            ("MultisigCancelled", {}, "canceled", ("block 80", polkadot(BOB))),
            ("MultisigCancelled", {"opened": 80}, "canceled", ("block 80",)),
            ("MultisigCancelled", {"kept": 70}, "unknown", ("explorer", polkadot(COUNCIL))),
            ("MultisigCancelled", {"since": 0}, "unknown", ("MultisigCancelled", CALL_HASH.hex())),
            ("MultisigCancelled", {"opened": 90}, "unknown", ("explorer",)),
        ],
        ids=["ran", "canceled", "at once", "pruned", "opened by others", "in no block"],
    )
    def test_what_became_of_one_that_is_not_open_is_read_from_the_block_that_ended_it(
        self,
        app: Application,
        network: FakeNetwork,
        event: str,
        given: dict[str, int],
        state: str,
        words: tuple[str, ...],
    ) -> None:
        given = {"opened": 60, "kept": 0, **given}
        since = given.pop("since", given["opened"])
        account = self.ended(app, network.chains["polkadot"], event, **given)

        client = app.client(app.registry.find("polkadot"))
        found = finish(read_state(app, client, account, CALL_HASH, threshold=2, since=since))

        assert (found.state, found.says) == (state, says(*words))
        assert (found.ending is not None) == (state != "unknown")


class Vault:
    """An account on Asset Hub, and what its chain does with calls of its proxies: as pallet-proxy,
    which takes the first that fits."""

    def __init__(self, network: FakeNetwork, *proxies: tuple[str, int]) -> None:
        self.hub = network.chains["assetHub"]
        self.proxies = [
            {"delegate": ALICE_KEY, "proxy_type": kind, "delay": delay} for kind, delay in proxies
        ]
        self.hub.store("Proxy", "Proxies", bytes.fromhex(VAULT[2:]), value=[self.proxies, 0])
        self.hub.api["DryRunApi_dry_run_call"] = self.play
        self.app = Application(load_settings({"config": str(network.config)}, {}))

    def play(self, arguments: bytes) -> Any:
        forced = call_tried(self.hub.table, arguments).args["force_proxy_type"]
        chosen = next(each for each in self.proxies if forced in (None, each["proxy_type"]))
        effects: dict[str, Any] = {"emitted_events": [], "local_xcm": None, "forwarded_xcms": []}
        info = {"actual_weight": None, "pays_fee": "Yes"}
        if chosen["delay"]:
            # Proxy.Unannounced
            error = {"Module": {"index": 42, "error": bytes([6, 0, 0, 0])}}
            return {
                "Ok": {**effects, "execution_result": {"Err": {"post_info": info, "error": error}}}
            }
        filtered = {"Module": {"index": 0, "error": bytes([5, 0, 0, 0])}}
        result = (
            {"Ok": None} if chosen["proxy_type"] in ("Any", "Governance") else {"Err": filtered}
        )
        effects["emitted_events"] = [{"Proxy": {"ProxyExecuted": {"result": result}}}]
        return {"Ok": {**effects, "execution_result": {"Ok": info}}}

    def type_of_call(self, type: str = "") -> Any:
        """Return the type that the call of the vault names."""

        async def build() -> str:
            async with self.app as app:
                await add_address(app, AddAddress(name="vault", proxy_of=VAULT, type=type))
                request = BuildCall(
                    chain="assetHub",
                    pallet="System",
                    method="remark",
                    args=("hi",),
                    acting="vault",
                    sender=ALICE,
                )
                built = (await perform(app, build_call, request)).answer
                return str(built["call_data"])

        return self.hub.table.decode_call(bytes.fromhex(finish(build())[2:])).args[
            "force_proxy_type"
        ]


class TestSeveralProxies:
    @pytest.mark.parametrize(
        ("proxies", "given", "named"),
        [
            ([("Any", 0)], "", None),
            ([("Any", 0), ("Governance", 0)], "", None),
            ([("Any", 0), ("Any", 100)], "", None),
            ([("NonTransfer", 0), ("Governance", 0)], "", "Governance"),
            ([("Any", 100), ("Governance", 0)], "", "Governance"),
            ([("Any", 100), ("NonTransfer", 0), ("Governance", 0)], "governance", "Governance"),
        ],
    )
    def test_one_is_named_if_the_chain_would_take_another_one(
        self, tmp_path: Path, proxies: list[tuple[str, int]], given: str, named: str | None
    ) -> None:
        with FakeNetwork(tmp_path) as network:
            assert Vault(network, *proxies).type_of_call(given) == named

    @pytest.mark.parametrize(
        ("proxies", "words"),
        [
            ([("NonTransfer", 0), ("Assets", 0)], ("NonTransfer or Assets", "CallFiltered")),
            ([("Any", 100), ("NonTransfer", 0)], ("NonTransfer may not", "CallFiltered")),
            ([("Any", 100), ("NonTransfer", 200)], ("announce", "100 blocks")),
        ],
    )
    def test_none_that_lets_the_call_through_is_refused(
        self, tmp_path: Path, proxies: list[tuple[str, int]], words: tuple[str, ...]
    ) -> None:
        with FakeNetwork(tmp_path) as network, raises(InvalidRequest, says(*words)):
            Vault(network, *proxies).type_of_call()


class TestScenarios:
    @pytest.fixture
    def id(self, book: Run) -> str:
        ended = book("create", "transfer", *TRANSFER, "--as", "treasury", "--sender", "Alice")
        assert ended.code == 0
        return ended.out.strip()

    def test_a_scenario_keeps_who_acts_in_it(self, book: Run, id: str) -> None:
        book("address", "remove", "treasury")

        built = book("--offline", "scenario", "build", id).out.strip()

        assert layers_of(decoded(book, built)["call"]) == WRAPPED

    def test_a_job_drafts_it_wrapped(self, book: Run, id: str) -> None:
        assert book("--offline", "job", "run", id).code == 0

        (draft,) = json.loads(book("job", "drafts", id, "--json").out)["mempool"]
        assert layers_of(decoded(book, draft["tx"])["call"]) == WRAPPED
        refused = book(
            "--offline", "tx", "payload", "--job", id, "--as", "council", "--sender", "Alice"
        )
        assert (refused.code, refused.err) == (2, says("as", "job"))


@pytest.mark.parametrize(
    "given",
    [
        {},
        [],
        {"name": "a", "layers": []},
        {"name": 1, "layers": [{"proxy_of": VAULT, "type": ""}]},
        {"name": "a\n", "layers": [{"proxy_of": VAULT, "type": ""}]},
        {"name": "a" * 61, "layers": [{"proxy_of": VAULT, "type": ""}]},
        {"name": "a", "layers": [{"proxy_of": "0x12", "type": ""}]},
        {"name": "a", "layers": [{"proxy_of": VAULT, "type": 3}]},
        {"name": "a", "layers": [{"threshold": True, "signatories": [VAULT]}]},
        {"name": "a", "layers": [{"proxy_of": VAULT, "type": ""}] * 5},
        {"name": "a", "layers": [{"proxy_of": VAULT, "type": ""}], "signer": 1},
    ],
)
def test_a_diagram_from_anywhere_with_no_such_account_is_refused(given: Any) -> None:
    with raises(InvalidRequest, says("actingAs")):
        read_acting(given, field="actingAs")
