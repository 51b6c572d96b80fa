"""The address book: accounts with names in the store, and names that go wherever an address
goes."""

import json
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import pytest

from scenarioctl.errors import Conflict, InvalidRequest
from scenarioctl.model.acting import NamedAddress, read_name
from scenarioctl.model.request_fields import account_fields
from scenarioctl.operations import find_handler
from scenarioctl.server.endpoints import ENDPOINTS
from scenarioctl.stores.store import Store
from tests.conftest import Run
from tests.messages import raises, says
from tests.runner import finish as run
from tests.runtimes import BOB, BOB_ADDRESS
from tests.test_addresses import KNOWN
from tests.test_stores import NOW, STORES, Clock, opened

ALICE = "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5"
ENTRY = NamedAddress(name="Bob", account="0x" + BOB.hex(), address=BOB_ADDRESS, created=NOW)
OTHER = NamedAddress(
    name="ann", account="0x" + "11" * 20, address="0x" + "11" * 20, watched=True, created=NOW
)
TRANSFER = (
    "tx",
    "transfer",
    "--from",
    "polkadot",
    "--to",
    "assetHub",
    "--asset",
    "DOT",
    "--amount",
    "1",
)


@pytest.mark.parametrize("kind", STORES)
class TestEveryStore:
    @pytest.fixture
    def store(self, kind: str, tmp_path: Path) -> Iterator[Store]:
        with opened(kind, tmp_path, Clock()) as store:
            yield store

    def test_entries_are_read_as_they_were_added_in_the_order_of_their_names(
        self, store: Store
    ) -> None:
        for each in (ENTRY, OTHER):
            run(store.addresses().put(each))

        assert run(store.addresses().list()) == [OTHER, ENTRY]

    def test_one_that_is_added_again_changes_and_stays_as_old_as_it_is(self, store: Store) -> None:
        run(store.addresses().put(ENTRY))
        run(store.addresses().put(replace(ENTRY, address=KNOWN[2], watched=True, created=NOW + 9)))

        assert run(store.addresses().list()) == [replace(ENTRY, address=KNOWN[2], watched=True)]

    def test_a_name_goes_to_another_account_only_after_it_was_removed(self, store: Store) -> None:
        run(store.addresses().put(ENTRY))

        with raises(Conflict, says("Bob", BOB_ADDRESS, "remove")):
            run(store.addresses().put(replace(OTHER, name="Bob")))
        assert run(store.addresses().remove("Bob"))
        run(store.addresses().put(replace(OTHER, name="Bob")))

        assert run(store.addresses().list()) == [replace(OTHER, name="Bob")]
        assert not run(store.addresses().remove("bob"))

    def test_an_account_has_one_name_however_it_is_spelled(self, store: Store) -> None:
        run(store.addresses().put(ENTRY))

        with raises(Conflict, says(KNOWN[42], "Bob")):
            run(store.addresses().put(replace(ENTRY, name="Robert", address=KNOWN[42])))

    @pytest.mark.parametrize("name", ["bob", "B0b", "Воb", "B-o-b", "Bób"])
    def test_a_name_that_looks_like_another_is_refused(self, store: Store, name: str) -> None:
        run(store.addresses().put(ENTRY))

        with raises(Conflict, says(name, "Bob", BOB_ADDRESS)):
            run(store.addresses().put(replace(OTHER, name=name)))


@pytest.mark.parametrize(
    "name",
    [
        "",
        "x" * 61,
        "Bob\u202e",
        "Bo\nb",
        "a\u200bb",
        "a,b",
        "{{ bob }}",
        "0xBob",
        ALICE,
        ALICE[:-3] + "abc",
        "1" * 30,
    ],
)
def test_a_name_that_could_deceive_is_refused(name: str) -> None:
    with raises(InvalidRequest, says("name")):
        read_name(name)


def test_composed_and_decomposed_letters_are_one_name() -> None:
    assert read_name("Bo\u0308rse") == "B\u00f6rse"


class TestCommands:
    @pytest.fixture(autouse=True)
    def book(self, scenarioctl: Run) -> None:
        assert scenarioctl("address", "add", "Bob", KNOWN[2]).code == 0

    def test_what_is_added_is_listed_once_for_all_its_spellings(self, scenarioctl: Run) -> None:
        assert (
            scenarioctl("address", "add", "Bob", BOB_ADDRESS, "--watch").out
            == f"Added Bob: {BOB_ADDRESS}\n"
        )

        (row,) = json.loads(scenarioctl("address", "list", "--json").out)["addresses"]
        assert row["created"]
        assert {**row, "created": ""} == {
            "name": "Bob",
            "address": BOB_ADDRESS,
            "account": "0x" + BOB.hex(),
            "watched": True,
            "acting": "",
            "layers": [],
            "created": "",
        }
        assert scenarioctl("address", "list").out == f"Bob\t{BOB_ADDRESS}\tyes\t-\n"

    def test_a_name_stands_for_its_address_and_the_answer_says_so(self, scenarioctl: Run) -> None:
        named = scenarioctl("--offline", *TRANSFER, "--to-address", "Bob")
        plain = scenarioctl("--offline", *TRANSFER, "--to-address", KNOWN[2])

        assert named.out == plain.out
        assert named.err == f"Bob is {KNOWN[2]} in the address book.\n{plain.err}"

    def test_a_mistyped_name_is_no_name(self, scenarioctl: Run) -> None:
        ended = scenarioctl("--offline", *TRANSFER, "--to-address", "Bobb")
        other = scenarioctl("address", "remove", "Bobb")

        assert (ended.code, ended.err) == (2, says("Bobb", "did you mean Bob?"))
        assert (other.code, other.err) == (3, says("Bobb", "did you mean Bob?"))


def test_every_account_that_a_request_names_may_be_a_name() -> None:
    """But one that is added, and that of a contract."""
    named = {
        (row.operation, field.name)
        for row in ENDPOINTS
        for field in fields(find_handler(row.operation)[1])
        if "address" in field.name
        or field.name
        in (
            "sender",
            "beneficiary",
            "receiver",
            "account",
            "signatories",
            "proxy_of",
            "pure_of",
            "validators",
        )
    }
    taken = {
        (row.operation, name)
        for row in ENDPOINTS
        for name in account_fields(find_handler(row.operation)[1])
    }

    assert named - taken == {
        ("addresses.add_address", "address"),
        ("queries.contract_info", "address"),
    }
    assert taken <= named
