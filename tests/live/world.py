"""The chains of a rig, all that is stored on them, and what a transaction changes there."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from substrateinterface import Keypair

from scenarioctl.application import Application
from scenarioctl.chains.addresses import format_account
from scenarioctl.chains.locations import XCM_PALLETS
from scenarioctl.chains.registry import Chain
from scenarioctl.errors import ChainRefused, InvalidRequest
from scenarioctl.model.calls import Call
from scenarioctl.runtime.storage_keys import read_key, storage_key, twox
from scenarioctl.runtime.table import RuntimeTable
from scenarioctl.runtime.type_table import StorageEntry
from scenarioctl.transactions.blocks import Event
from scenarioctl.transactions.extrinsic import encode_era
from scenarioctl.transactions.signing.payload import SigningOptions, signing_payload
from scenarioctl.transactions.signing.signatures import encode_signed_extrinsic
from scenarioctl.transactions.simulation.runtime_api import amount_of
from tests.live.playing import put
from tests.live.recorder import clock, pause
from tests.live.setup import PATIENCE, PRICES, blocks_after
from tests.runner import finish

#: Chain, account, asset as it is printed.
Place = tuple[str, bytes, str]
#: Entries that say what somebody may do; a change of one is a right given or taken.
RIGHTS = frozenset(
    [
        *("Proxy.Proxies", "Proxy.Announcements", "Recovery.Recoverable", "Recovery.Proxy"),
        *("Assets.Approvals", "ForeignAssets.Approvals", "PoolAssets.Approvals", "Assets.Asset"),
        *("Uniques.Account", "Uniques.Asset", "Uniques.Class", "Uniques.ClassAccount", "Nfts.Item"),
        *("Session.NextKeys", "Session.KeyOwner", "Identity.SubsOf", "Identity.SuperOf"),
        *(
            "Staking.Payee",
            "Staking.Bonded",
            "ConvictionVoting.VotingFor",
            "System.AuthorizedUpgrade",
        ),
        *("Scheduler.Agenda", "DCA.Schedules", "OTC.Orders", "Multisig.Multisigs"),
        *("EVMAccounts.ApprovedContract", "Vesting.Vesting"),
    ]
)
_PAGE = 1000


@dataclass(frozen=True, kw_only=True)
class Balance:
    free: int = 0
    reserved: int = 0
    frozen: int = 0


@dataclass(kw_only=True)
class State:
    """All balances, and everything else that belongs to somebody."""

    balances: dict[Place, Balance] = field(default_factory=dict)
    #: Chain, `Pallet.Entry` and key -> the stored bytes.
    records: dict[tuple[str, str, str], str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a signed transaction."""

    #: `arrives`, `trapped`, `fails`, `fails abroad`, `not included` or `rejected`.
    real: str
    why: str = ""
    fee: int = 0
    #: Name of the chain -> the events of its blocks since then.
    events: dict[str, list[Event]] = field(default_factory=dict)


class World:
    """Every chain of one mode of the rig."""

    def __init__(self, app: Application, names: list[str]) -> None:
        self.app = app
        self.chains = [app.registry.find(name) for name in names]
        self._last: tuple[list[str], State] | None = None
        #: Who gets fees, whatever is done.
        self.household: frozenset[bytes] = frozenset()

    def chain(self, name: str) -> Chain:
        return next(chain for chain in self.chains if chain.name == name)

    def table(self, chain: Chain) -> RuntimeTable:
        return finish(self.app.client(chain).table())

    def read(self, name: str, pallet: str, entry: str, *keys: Any) -> Any:
        return finish(self.app.client(self.chain(name)).storage(pallet, entry, *keys))

    def put(self, name: str, pallet: str, entry: str, *keys: Any, value: Any) -> None:
        put(self.app, self.chain(name), pallet, entry, *keys, value=value)
        self.touch()

    def clear(self, name: str, pallet: str, entry: str, *keys: Any) -> None:
        chain = self.chain(name)
        key = storage_key(self.table(chain), pallet, entry, keys)
        finish(self.app.client(chain).call("dev_setStorage", [[key.hex, None]]))
        self.touch()

    def price(self) -> None:
        """Give the exchange the prices that live only within a block on a rig."""
        for chain in self.chains:
            if chain.name == "liveDex":
                storage = {"MultiTransactionPayment": {"AcceptedCurrencyPrice": PRICES}}
                finish(self.app.client(chain).call("dev_setStorage", storage))

    def learn_household(self, key: Keypair) -> None:
        """See who gets something of a remark, which pays nobody."""
        remark = Call(pallet="System", method="remark", args={"remark": b"who gets the fee?"})
        for chain in self.chains:
            before = self.state()
            self.submit(chain, remark, key)
            after = self.state()
            places = (
                place
                for place in after.balances
                if after.balances[place] != before.balances.get(place)
            )
            self.household |= {account for _, account, _ in places} - {key.public_key}

    def is_named(self, account: bytes, words: str) -> bool:
        """Tell whether *words* name *account*, as any of the chains writes it."""
        names = [format_account(account, chain.ss58_prefix) for chain in self.chains]
        return any(name in words or f"{name[:4]}…" in words for name in names)

    # What is stored

    def state(self) -> State:
        """Return what is stored now; read again only if a block came, or something was written."""
        heads = [finish(self.app.client(chain).head())[1] for chain in self.chains]
        if self._last is None or self._last[0] != heads:
            self._last = (heads, self._read_state())
        return self._last[1]

    def touch(self) -> None:
        """Forget what was read: something was written without a block."""
        self._last = None

    def _read_state(self) -> State:
        state = State()
        for chain in self.chains:
            entries = _entries(self.table(chain))
            for key, value in self._stored(chain, list(entries)):
                self._add(state, chain, entries[key[2:66]], key, value)
        return state

    def _stored(self, chain: Chain, prefixes: list[str]) -> Iterator[tuple[str, str]]:
        client = self.app.client(chain)
        keys: list[str] = []
        for prefix in prefixes:
            start: list[str] = []
            while True:
                page = finish(client.call("state_getKeysPaged", "0x" + prefix, _PAGE, *start))
                keys += page
                if len(page) < _PAGE:
                    break
                start = [page[-1]]
        (answer,) = finish(client.call("state_queryStorageAt", keys))
        for key, value in answer["changes"]:
            if value is not None:
                yield key, value

    def _add(self, state: State, chain: Chain, entry: StorageEntry, key: str, value: str) -> None:
        table = self.table(chain)
        name = f"{entry.pallet}.{entry.name}"
        if name not in _BALANCES:
            state.records[chain.name, name, key] = value
            return
        parts = read_key(table, entry, key)
        stored = table.decode(entry.value_type, bytes.fromhex(value[2:]))
        account, asset = _BALANCES[name](parts)
        if asset is None:
            data = stored["data"]
            label = amount_of(self.app.assets.native(chain), 0).asset
        else:
            data = {"free": stored["balance"]} if "balance" in stored else stored
            label = self.label(chain, name, asset)
        if (
            name in ("Assets.Account", "ForeignAssets.Account")
            and str(stored["status"]) != "Liquid"
        ):
            data = {"free": 0, "frozen": stored["balance"]}
        state.balances[chain.name, account, label] = Balance(
            free=data["free"], reserved=data.get("reserved", 0), frozen=data.get("frozen", 0)
        )

    def label(self, chain: Chain, name: str, asset: Any) -> str:
        if name in ("Assets.Account", "Tokens.Accounts"):
            try:
                return amount_of(self.app.assets.find(chain, str(asset)), 0).asset
            except InvalidRequest:
                return str(asset)
        return f"{name} {asset}"

    # What is done

    def submit(self, chain: Chain, call: Call, key: Keypair) -> Outcome:
        """Sign *call* as the check expects it to be signed, send it, and wait until all chains are
        done with it."""
        heads = {each.name: self.head(each) for each in self.chains}
        client = self.app.client(chain)
        try:
            finish(
                client.submit("author_submitExtrinsic", "0x" + self.sign(chain, call, key).hex())
            )
        except ChainRefused as error:
            return Outcome(real="rejected", why=str(error))
        deadline = clock() + PATIENCE
        # A message from elsewhere may come first, in a block of its own.
        while not _paid(self._events(heads)[chain.name], key.public_key):
            if clock() > deadline:
                return Outcome(real="not included")
            if self.head(chain) > heads[chain.name]:
                deadline = min(deadline, clock() + 20)
            pause(0.1)
        if _sends(call):
            self._wait(heads)
        return self._judge(chain, key.public_key, self._events(heads))

    def sign(self, chain: Chain, call: Call, key: Keypair) -> bytes:
        table = self.table(chain)
        number, birth = finish(self.app.client(chain).head())
        nonce = self.read(chain.name, "System", "Account", key.public_key)["nonce"]
        options = SigningOptions(
            nonce=nonce,
            era=encode_era(64, number),
            genesis_hash=bytes.fromhex(chain.genesis[2:]),
            block_hash=bytes.fromhex(birth[2:]),
        )
        data = table.encode_call(call)
        payload = signing_payload(table, data, options)
        return encode_signed_extrinsic(
            table,
            data,
            payload.extra,
            account=key.public_key,
            scheme="sr25519",
            signature=key.sign(payload.bytes_to_sign),
        )

    def head(self, chain: Chain) -> int:
        return int(finish(self.app.client(chain).head())[0])

    def settle(self, quiet: float = 0.6) -> None:
        """Wait until no chain makes blocks any more."""
        last, since = [self.head(chain) for chain in self.chains], clock()
        deadline = since + PATIENCE
        while clock() - since < quiet and clock() < deadline:
            pause(0.1)
            now = [self.head(chain) for chain in self.chains]
            if now != last:
                last, since = now, clock()

    def _wait(self, heads: dict[str, int]) -> None:
        self.settle()
        deadline = clock() + PATIENCE / 4
        while clock() < deadline:
            events = [event for each in self._events(heads).values() for event in each]
            queued = sum(event.name in ("XcmpMessageSent", "UpwardMessageSent") for event in events)
            sent = sum(event.is_of_xcm("Sent") for event in events)
            done = sum(
                event.pallet == "MessageQueue" and event.name.startswith("Process")
                for event in events
            )
            if done >= max(queued, sent):
                break
            pause(0.3)
        self.settle()

    def _events(self, heads: dict[str, int]) -> dict[str, list[Event]]:
        found: dict[str, list[Event]] = {}
        for chain in self.chains:
            before, now = heads[chain.name], self.head(chain)
            blocks = blocks_after(self.app, chain, before)
            found[chain.name] = [event for _ in range(now - before) for event in next(blocks)]
        return found

    def _judge(self, chain: Chain, account: bytes, events: dict[str, list[Event]]) -> Outcome:
        here = events[chain.name]
        everywhere = [event for each in events.values() for event in each]
        paid = _paid(here, account)
        real, why = "arrives", ""
        if not paid:
            real = "not included"
        for event in here:
            if _is_failure(event):
                real, why = "fails", f"{event}: {event.fields}"
        for event in everywhere if real == "arrives" else ():
            if event.name == "AssetsTrapped":
                real, why = "trapped", str(event.fields.get("assets"))
            elif event.name == "ProcessingFailed" or (
                event.pallet == "MessageQueue" and event.fields.get("success") is False
            ):
                real, why = "fails abroad", str(event.fields)
        fee = int(paid[0].fields["actual_fee"]) if paid else 0
        return Outcome(real=real, why=why[:300], fee=fee, events=events)


def _entries(table: RuntimeTable) -> dict[str, StorageEntry]:
    found = {}
    for name in (*_BALANCES, *sorted(RIGHTS)):
        pallet, entry_name = name.split(".")
        if pallet in table.pallets and entry_name in table.storage_entries(pallet):
            entry = table.storage_entry(pallet, entry_name)
            found[(twox(entry.prefix.encode(), 2) + twox(entry.name.encode(), 2)).hex()] = entry
    return found


#: Entry -> how its key tells the account and the asset.
_BALANCES: dict[str, Any] = {
    "System.Account": lambda parts: (parts[0], None),
    "Assets.Account": lambda parts: (parts[1], parts[0]),
    "ForeignAssets.Account": lambda parts: (parts[1], parts[0]),
    "PoolAssets.Account": lambda parts: (parts[1], parts[0]),
    "Tokens.Accounts": lambda parts: (parts[0], parts[1]),
}


def _sends(call: Call) -> bool:
    """Tell whether *call* could send a message: whether a pallet of XCM is named in it."""
    return any(f"{pallet}" in repr(call) for pallet in (*XCM_PALLETS, "XTokens"))


def _paid(events: list[Event], account: bytes) -> list[Event]:
    return [
        event
        for event in events
        if str(event) == "TransactionPayment.TransactionFeePaid" and event.fields["who"] == account
    ]


def _is_failure(event: Event) -> bool:
    fields = event.fields if isinstance(event.fields, dict) else {}
    result, outcome = fields.get("result"), fields.get("outcome")
    return (
        str(event)
        in (
            "System.ExtrinsicFailed",
            "Utility.BatchInterrupted",
            "Utility.ItemFailed",
            "Utility.BatchCompletedWithErrors",
            "EVM.ExecutedFailed",
            "EVM.CreatedFailed",
        )
        or (event.pallet in ("Proxy", "Multisig") and isinstance(result, dict) and "Err" in result)
        or (event.name == "Attempted" and isinstance(outcome, dict) and "Complete" not in outcome)
    )
