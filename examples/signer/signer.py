"""A signer for jobs of scenarioctl: it signs the drafts that your policy allows, each at most once.

    signer.py init POLICY          create the journal; drafts from before are never signed
    signer.py run POLICY [--once]  sign what jobs draft from now on

The key is a mnemonic or a URI, in the file that --key names (mode 600) or in the variable SIGNER_KEY. See README.md.
"""

import argparse
import fcntl
import json
import os
import stat
import sys
import time
import urllib.error
import urllib.request
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

from chain import PERIOD, Node, Refused, Unreachable, call_of, payload
from policy import Policy, load_policy, read_move
from substrateinterface import Keypair

DAY = 24 * 60 * 60
#: Seconds between looks at the drafts.
PAUSE = 5
#: Outcomes of a transaction that moved nothing, and never will.
UNSPENT = ("expired", "replaced")


class Journal:
    """What was decided about each draft: one JSON object to a line, on the disk before the signer goes on.

    A draft goes through `intent` (all that is signed), `signed` (the transaction) and `outcome`, or is `refused`.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._file = path.open("r+b")
        except FileNotFoundError:
            raise SystemExit(f"there is no journal {path}: create it once with `signer.py init`") from None
        lock(self._file, f"the journal {path}")
        #: Account and, for each job, the number of the last draft that is not ours to sign.
        self.start: dict[str, Any] = {}
        #: Draft -> all that its lines say.
        self.drafts: dict[str, dict[str, Any]] = {}
        whole = 0
        for line in self._file:
            # A line without an end was cut by a crash: the step that it announces was not begun.
            if line.endswith(b"\n"):
                whole += len(line)
                self._keep(json.loads(line))
        self._file.seek(whole)
        self._file.truncate()

    def close(self) -> None:
        self._file.close()

    def write(self, **entry: Any) -> None:
        entry = {**entry, "time": self.now()}
        self._file.write(json.dumps(entry).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._keep(entry)

    def now(self) -> float:
        """Return the time. It never runs back, or the sums of the last 24 hours would be too small."""
        return max([time.time(), *(float(entry["time"]) for entry in self.drafts.values())])

    def _keep(self, entry: dict[str, Any]) -> None:
        if entry["event"] == "start":
            self.start = {**self.start, **entry}
            return
        began = self.drafts.get(entry["draft"], {})
        self.drafts[entry["draft"]] = {**began, **entry, "time": began.get("time", entry["time"])}

    def open(self) -> list[dict[str, Any]]:
        """Return the drafts of which it isn't known what became of them."""
        return [entry for entry in self.drafts.values() if entry["event"] in ("intent", "signed")]

    def cursor(self, job: str) -> int | None:
        """Return the number of the newest draft of *job* that is dealt with; None for a new job."""
        start = self.start.get("cursors", {}).get(job)
        seen = [int(draft.rpartition("/")[2]) for draft in self.drafts if draft.rpartition("/")[0] == job]
        return None if start is None else max([start, *seen])

    def last_day(self) -> list[dict[str, Any]]:
        """Return the drafts that may have moved something in the last 24 hours."""
        since = self.now() - DAY
        return [
            entry
            for entry in self.drafts.values()
            if "payload" in entry and entry.get("status") not in UNSPENT and entry["time"] > since
        ]

    def spent(self, chain: str, asset: str) -> int:
        return sum(
            int(entry["amount"])
            for entry in self.last_day()
            if (entry["chain"], entry["asset"]) == (chain, asset)
        )


class Daemon:
    """The daemon's HTTP API."""

    def __init__(self, url: str, token: str) -> None:
        self.url, self._token = url, token

    def ask(self, path: str, **fields: Any) -> Any:
        """Return the answer; Refused if the daemon refuses what was asked, Unreachable if it should be asked again."""
        headers = {"Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        request = urllib.request.Request(self.url + path, json.dumps(fields).encode(), headers)  # noqa: S310 - the policy's
        try:
            with urllib.request.urlopen(request, timeout=300) as response:  # noqa: S310
                return json.load(response)
        except urllib.error.HTTPError as error:
            said = error.read().decode(errors="replace")
            kind = Refused if error.code in (409, 422) else Unreachable
            raise kind(f"the daemon: {said}") from None
        except (OSError, ValueError) as error:
            raise Unreachable(f"{self.url}: {error}") from None


class Signer:
    """Deals with one draft after the other. At most one transaction is under way."""

    def __init__(self, policy: Policy, journal: Journal, daemon: Daemon, key: Keypair) -> None:
        self.policy, self.journal, self.daemon, self.key = policy, journal, daemon, key
        self.nodes = {name: Node(chain.node, chain.genesis) for name, chain in policy.chains.items()}
        if journal.start["account"] != key.ss58_address:
            raise SystemExit(
                f"the journal is of {journal.start['account']}, the key is of {key.ss58_address}"
            )

    def look(self) -> None:
        """Finish what is under way, then deal with the new drafts of every job."""
        for job in self.policy.jobs:
            for row in self._new_drafts(job):
                if not self._settle():
                    return
                self._deal(job, row)
        self._settle()

    def _new_drafts(self, job: str) -> list[dict[str, Any]]:
        after = self.journal.cursor(job)
        try:
            rows: list[dict[str, Any]] = self.daemon.ask("/scenario/tx", id=job, after=after or 0)["mempool"]
        except Refused as why:
            # Such as a store that was restored to an earlier time, and would number drafts again.
            raise SystemExit(f"job {job}: {why}") from None
        if after is None:
            while rows and (
                more := self.daemon.ask("/scenario/tx", id=job, after=rows[-1]["seq"])["mempool"]
            ):
                rows += more
            newest = rows[-1]["seq"] if rows else 0
            cursors = {**self.journal.start.get("cursors", {}), job: newest}
            self.journal.write(event="start", cursors=cursors)
            say(f"job {job}: signing drafts after {newest}")
            return []
        return rows

    def _deal(self, job: str, row: dict[str, Any]) -> None:
        draft = f"{job}/{row['seq']}"
        try:
            plan = self._plan(job, row)
        except Refused as why:
            self.journal.write(event="refused", draft=draft, why=str(why))
            say(f"{draft}: not signed: {why}")
            return
        self.journal.write(event="intent", draft=draft, **plan)
        self._finish(self.journal.drafts[draft])

    def _plan(self, job: str, row: dict[str, Any]) -> dict[str, Any]:
        """Judge a draft, and return all that is signed for it; Refused if it isn't."""
        name = row["chain"]
        if "spec_version" not in row:
            raise Refused(f"it is not a transaction: {row['tx'][:80]}")
        if row["state"] != "current":
            raise Refused(f"it is {row['state']}")
        if name not in self.policy.chains:
            raise Refused(f"{name} is not a chain of the policy")
        if len(self.journal.last_day()) >= self.policy.most_transactions_per_day:
            raise Refused(f"max_transactions_per_day ({self.policy.most_transactions_per_day}) is reached")
        chain, node = self.policy.chains[name], self.nodes[name]
        runtime = node.runtime()
        call = call_of(row["tx"])
        move = read_move(name, runtime.decode(call), call)
        rule = self.policy.rule_for(move, self.journal.spent)
        nonce, block = node.nonce(self.key.public_key), node.finalized()
        answer = self.daemon.ask(
            "/api/tx/payload", job=job, draft=row["seq"], sender=self.key.ss58_address, nonce=nonce,
            era=PERIOD, block=block, metadata_hash="auto" if chain.metadata_hash else "off",
        )  # fmt: skip
        digest = answer["signer_payload"]["metadataHash"] or ""
        if chain.metadata_hash and len(digest) != 66:
            raise Refused("the daemon gave no metadata hash")
        mine = payload(
            call, runtime.extensions(), nonce=nonce, block=block, block_hash=node.block_hash(block),
            genesis=chain.genesis, spec=runtime.spec, transaction=runtime.transaction,
            digest=digest if chain.metadata_hash else "",
        )  # fmt: skip
        if answer["payload"] != "0x" + mine.hex():
            raise Refused("the daemon's payload is not that of the draft, your node and the policy")
        return {
            "chain": name, "rule": rule.name, "asset": move.asset, "amount": str(move.amount),
            "receiver": move.receiver, "nonce": nonce, "block": block, "payload": mine.hex(),
        }  # fmt: skip

    def _finish(self, entry: dict[str, Any]) -> None:
        """Sign what the journal says, unless it is signed, and send it."""
        draft, chain = entry["draft"], entry["chain"]
        if "tx" not in entry:
            data = bytes.fromhex(entry["payload"])
            signature = self.key.sign(data if len(data) <= 256 else blake2b(data, digest_size=32).digest())
            answer = self.daemon.ask(
                "/api/tx/assemble", tx="0x" + entry["payload"], chain=chain, sender=self.key.ss58_address,
                signature="0x" + signature.hex(),
            )  # fmt: skip
            self.journal.write(event="signed", draft=draft, tx=answer["tx"])
        tx = self.journal.drafts[draft]["tx"]
        job, _, seq = draft.rpartition("/")
        # Again: a crash or a lost answer may have left it in the daemon's store, but in no block.
        sent = self.daemon.ask(
            "/api/chain/Broadcast", chain=chain, tx=tx, wait="in-block", job=job, draft=seq, again=True
        )  # fmt: skip
        self._end(draft, "in block", sent["block"])

    def _settle(self) -> bool:
        """Find out what became of a transaction that a crash or an error left; tell whether nothing is under way."""
        for entry in self.journal.open():
            node, last = self.nodes[entry["chain"]], entry["block"] + PERIOD
            finalized = node.finalized()
            used = node.nonce(self.key.public_key, node.block_hash(finalized)) > entry["nonce"]
            if "tx" in entry and (block := node.find(entry["tx"], first=entry["block"], last=last)):
                self._end(entry["draft"], "in block", block)
            elif used:
                self._end(entry["draft"], "replaced", "another transaction of this account has its nonce")
            elif finalized > last:
                self._end(entry["draft"], "expired", f"no block up to {last} has it")
            else:
                try:
                    # The same nonce, block and call: of all that is ever signed for it, one can be included.
                    self._finish(entry)
                except Refused as why:
                    say(f"{entry['draft']}: {why}; waiting until block {last} is final")
                    return False
        return True

    def _end(self, draft: str, status: str, what: str) -> None:
        self.journal.write(event="outcome", draft=draft, status=status, what=what)
        say(f"{draft}: {status}: {what}")


def lock(file: IO[Any], name: str) -> None:
    """Hold *file* for this process until it ends, however it ends."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise SystemExit(f"another signer uses {name}") from None


def read_key(path: str) -> tuple[Keypair, IO[Any] | None]:
    """Return the key, and its file, which stays locked."""
    if not path:
        if not os.environ.get("SIGNER_KEY"):
            raise SystemExit("there is no key: pass --key FILE, or set SIGNER_KEY")
        return Keypair.create_from_uri(os.environ["SIGNER_KEY"].strip()), None
    file = Path(path).open()  # noqa: SIM115 - it holds the lock
    mode = os.fstat(file.fileno()).st_mode
    if not stat.S_ISREG(mode) or mode & 0o077:
        file.close()
        raise SystemExit(f"others can read {path}: run chmod 600 {path}")
    lock(file, f"the key {path}")
    return Keypair.create_from_uri(file.read().strip()), file


def create_journal(path: Path, key: Keypair) -> None:
    line = json.dumps({"event": "start", "account": key.ss58_address, "cursors": {}}) + "\n"
    try:
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        raise SystemExit(f"the journal {path} exists: a second one would forget what was signed") from None
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def say(text: str) -> None:
    print(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Sign the drafts of jobs that a policy allows.")
    parser.add_argument("command", choices=["init", "run"])
    parser.add_argument("policy", type=Path)
    parser.add_argument(
        "--key", default="", help="file with a mnemonic or a URI; default: the variable SIGNER_KEY"
    )
    parser.add_argument("--once", action="store_true", help="handle the current drafts, then exit")
    given = parser.parse_args()
    policy = load_policy(given.policy)
    key, _held = read_key(given.key)
    if given.command == "init":
        create_journal(policy.journal, key)
    journal = Journal(policy.journal)
    signer = Signer(policy, journal, Daemon(policy.daemon, os.environ.get("SIGNER_TOKEN", "")), key)
    while True:
        try:
            signer.look()
        except (Unreachable, Refused) as error:
            say(str(error))
        else:
            if given.once or given.command == "init":
                return
        time.sleep(PAUSE)


if __name__ == "__main__":
    main()
