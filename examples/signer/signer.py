"""A signer for jobs of scenarioctl: it signs the drafts that your policy allows, each at most once.

    signer.py init POLICY          create the journal; drafts from before are never signed
    signer.py run POLICY [--once]  sign what jobs draft from now on

The key is a mnemonic or a URI, in the file that --key names (mode 600) or in the variable
SIGNER_KEY. See README.md.
"""

import argparse
import fcntl
import http.client
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

from chain import (
    PERIOD,
    Node,
    NodeError,
    Refused,
    Unreachable,
    assemble,
    bytes_to_sign,
    call_of,
    signed_fields,
)
from policy import Policy, load_policy, read_move
from substrateinterface import Keypair

DAY = 24 * 60 * 60
#: Seconds between looks at the drafts.
PAUSE = 5
#: Seconds to wait for the daemon, and bytes of its longest answer.
PATIENCE, LONGEST_ANSWER = 60, 16 << 20
#: Drafts to read at a time.
PAGE = 100


class Journal:
    """What was decided about each draft: one JSON object to a line, on the disk before the signer
    goes on.

    A draft goes through `intent` (all that is signed, and what it costs), `signed` (the
    transaction) and `outcome`, or is `refused`. Its first line stays: nothing that comes later
    changes what was signed, or what counts.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = path.open("r+b")
        except FileNotFoundError:
            raise SystemExit(
                f"there is no journal {path}: create it once with `signer.py init`"
            ) from None
        lock(self._file, f"the journal {path}")
        #: Account and, for each job, the number of its newest draft that is dealt with.
        self.account, self.cursors = "", dict[str, int]()
        #: Number of a draft, which is unique in the daemon's store -> all that its lines say.
        self.drafts: dict[int, dict[str, Any]] = {}
        self._newest = 0.0
        whole = 0
        for line in self._file:
            # A line without an end was cut by a crash: the step that it announces was not begun.
            if line.endswith(b"\n"):
                whole += len(line)
                try:
                    self._keep(json.loads(line))
                except (KeyError, TypeError, ValueError) as error:
                    self._file.close()
                    raise SystemExit(
                        f"the journal {path} is damaged: {error!r} in {line[:80]!r}"
                    ) from None
        self._file.seek(whole)
        self._file.truncate()

    def close(self) -> None:
        self._file.close()

    def write(self, **entry: Any) -> None:
        entry = {**entry, "time": self.now()}
        # Before the disk: a line that contradicts an earlier one is never written.
        self._keep(entry)
        try:
            self._file.write(json.dumps(entry).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise SystemExit(f"the journal {self.path} can't be written: {error}") from None

    def now(self) -> float:
        """Return the time. It never runs back, or the sums of the last 24 hours would be too
        small."""
        return max(time.time(), self._newest)

    def _keep(self, entry: dict[str, Any]) -> None:
        event = entry["event"]
        if event == "start":
            self.account, self.cursors = entry["account"], {**self.cursors, **entry["cursors"]}
        elif event in ("intent", "refused"):
            if entry["seq"] in self.drafts:
                raise ValueError(f"draft {entry['seq']} is there already")
            self.drafts[entry["seq"]] = entry
            self.cursors[entry["job"]] = max(self.cursors[entry["job"]], entry["seq"])
        else:
            draft = self.drafts[entry["seq"]]
            self.drafts[entry["seq"]] = {**entry, **draft, "event": event}
        self._newest = max(self._newest, float(entry["time"]))

    def open(self) -> list[dict[str, Any]]:
        """Return the drafts of which it isn't known what became of them."""
        return [entry for entry in self.drafts.values() if entry["event"] in ("intent", "signed")]

    def last_day(self) -> list[dict[str, Any]]:
        """Return all that was to be signed in the last 24 hours, whatever became of it."""
        since = self.now() - DAY
        return [
            entry for entry in self.drafts.values() if "call" in entry and entry["time"] > since
        ]

    def spent(self, chain: str, asset: str) -> int:
        return sum(
            int(entry["amount"])
            for entry in self.last_day()
            if (entry["chain"], entry["asset"]) == (chain, asset)
        )

    def fees(self, chain: str) -> int:
        return sum(int(entry["fee"]) for entry in self.last_day() if entry["chain"] == chain)

    def next_nonce(self, chain: str) -> int:
        """Return the smallest nonce that no final block has, as far as the signer has seen."""
        final = [
            entry
            for entry in self.drafts.values()
            if entry.get("status") in ("finalized", "replaced")
        ]
        return max([entry["nonce"] + 1 for entry in final if entry["chain"] == chain], default=0)


class AsItIs(urllib.request.HTTPErrorProcessor):
    """Leaves errors as they are, and follows no redirection."""

    def http_response(self, request: Any, response: Any) -> Any:  # noqa: ARG002 - urllib's names
        return response

    https_response = http_response


class Daemon:
    """The daemon's HTTP API. Nothing that it answers is believed but that there are drafts."""

    def __init__(self, url: str, token: str) -> None:
        self.url, self._token = url, token
        self._opener = urllib.request.build_opener(AsItIs)

    def ask(self, path: str, **fields: Any) -> Any:
        """Return the answer; Refused if the daemon refuses what was asked, Unreachable if it should
        be asked again."""
        headers = {"Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        # The policy names the URL.
        body = json.dumps(fields).encode()
        request = urllib.request.Request(self.url + path, body, headers)  # noqa: S310
        try:
            with self._opener.open(request, timeout=PATIENCE) as response:
                answer = response.read(LONGEST_ANSWER + 1)
            if response.status != 200:
                kind = Refused if response.status in (409, 410, 422) else Unreachable
                raise kind(f"the daemon: {answer.decode(errors='replace')}")
            if len(answer) > LONGEST_ANSWER:
                raise Unreachable(f"{self.url}: the answer has more than {LONGEST_ANSWER} bytes")
            return json.loads(answer)
        except (OSError, ValueError, RecursionError, http.client.HTTPException) as error:
            raise Unreachable(f"{self.url}: {error}") from None


class Signer:
    """Deals with one draft after the other. At most one transaction is under way."""

    def __init__(self, policy: Policy, journal: Journal, daemon: Daemon, key: Keypair) -> None:
        self.policy, self.journal, self.daemon, self.key = policy, journal, daemon, key
        self.nodes = {
            name: Node(chain.node, chain.genesis) for name, chain in policy.chains.items()
        }
        self._told: set[int] = set()
        self._said = ""
        if journal.account != key.ss58_address:
            raise SystemExit(
                f"the journal is of {journal.account}, the key is of {key.ss58_address}"
            )
        for entry in journal.open():
            if entry["chain"] not in self.nodes:
                raise SystemExit(
                    f"the policy needs [chains.{entry['chain']}]: a transaction is under way there"
                )

    def look(self) -> bool:
        """Finish what is under way, then deal with new drafts of every job; tell whether nothing
        was left to do."""
        if not self._settle():
            return False
        idle = True
        for job in self.policy.jobs:
            for row in self._new_drafts(job):
                idle = False
                self._deal(job, row)
                if not self._settle():
                    return False
        return idle

    def say(self, text: str) -> None:
        """Log a line, but not the same twice. What the daemon says can't begin another one."""
        if text != self._said:
            shown = "".join(each if each.isprintable() else "?" for each in text[:1000])
            print(
                time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                shown,
                file=sys.stderr,
                flush=True,
            )
        self._said = text

    def _new_drafts(self, job: str) -> list[dict[str, Any]]:
        if job not in self.journal.cursors:
            newest = max((row["seq"] for row in self._ask_drafts(job, tail=1)), default=0)
            self.journal.write(event="start", account=self.key.ss58_address, cursors={job: newest})
            self.say(f"job {job}: signing drafts after {newest}")
            return []
        return self._ask_drafts(job, after=self.journal.cursors[job], limit=PAGE)

    def _ask_drafts(self, job: str, **which: int) -> list[dict[str, Any]]:
        """Return rows with numbers that are new; their other fields are judged one by one."""
        try:
            rows: list[dict[str, Any]] = self.daemon.ask("/scenario/tx", id=job, **which)["mempool"]
            numbers = [row["seq"] for row in rows]
        except Refused as why:
            # Such as a store that was restored to an earlier time, and would number drafts again.
            raise SystemExit(f"job {job}: {why}") from None
        except (KeyError, TypeError) as error:
            raise Unreachable(
                f"job {job}: the daemon doesn't answer with a list of drafts ({error!r})"
            ) from None
        after = which.get("after", 0)
        for number in numbers:
            if (
                type(number) is not int
                or not after < number < 1 << 63
                or number in self.journal.drafts
            ):
                shown = number if type(number) is int else f"with a {type(number).__name__}"
                raise Unreachable(
                    f"job {job}: the daemon numbers a draft {shown}, expected a new one "
                    f"after {after}"
                )
            after = number
        return rows[:PAGE]

    def _deal(self, job: str, row: dict[str, Any]) -> None:
        seq = row["seq"]
        try:
            occasion = self._occasion(job, row)
            plan = self._plan(row)
        except Refused as why:
            self.journal.write(event="refused", seq=seq, job=job, why=str(why)[:500])
            self.say(f"{job}/{seq}: not signed: {why}")
            return
        self.journal.write(event="intent", seq=seq, job=job, occasion=occasion, **plan)
        self._finish(self.journal.drafts[seq])

    def _occasion(self, job: str, row: dict[str, Any]) -> list[str] | None:
        """Return what a draft is for: step and planned time, None for a run by hand; Refused if
        that was signed before.

        A failover of the daemon's store repeats what it has lost.
        """
        node, moment = row.get("node"), row.get("occurrence")
        if not isinstance(node, str) or not isinstance(moment, str):
            return None
        occasion = [job, node[:200], moment[:40]]
        for seq, entry in self.journal.drafts.items():
            if entry.get("occasion") == occasion:
                raise Refused(
                    f"draft {seq} of the same step and planned time was to be signed before"
                )
        return occasion

    def _plan(self, row: dict[str, Any]) -> dict[str, Any]:
        """Judge a draft, and return all that is signed for it and what it costs; Refused if it
        isn't signed."""
        name, tx = row.get("chain"), row.get("tx")
        if not isinstance(name, str) or not isinstance(tx, str):
            raise Refused("its chain and its transaction are not text")
        if type(row.get("spec_version")) is not int:
            raise Refused(f"it is not a transaction: {tx[:80]}")
        if (state := row.get("state")) != "current":
            raise Refused(f"it is {state}" if isinstance(state, str) else "its state is not text")
        if name not in self.policy.chains:
            raise Refused(f"{name} is not a chain of the policy")
        if len(self.journal.last_day()) >= self.policy.most_transactions_per_day:
            raise Refused(
                f"max_transactions_per_day ({self.policy.most_transactions_per_day}) is reached"
            )
        chain, node, account = self.policy.chains[name], self.nodes[name], self.key.public_key
        call = call_of(tx)
        runtime = node.runtime()
        move = read_move(name, runtime.decode(call), call)
        rule = self.policy.rule_for(move, self.journal.spent)
        nonce, block = node.nonce(account), node.finalized()
        if nonce < (least := self.journal.next_nonce(name)):
            raise Unreachable(
                f"{name}: your node is behind: it says nonce {nonce}, after {least - 1} was final"
            )
        extra, additional = signed_fields(
            runtime.extensions(), nonce=nonce, block=block, block_hash=node.block_hash(block),
            genesis=chain.genesis, runtime=runtime,
        )  # fmt: skip
        # The same length as with the signature, which the estimate doesn't check.
        sender = runtime.address(account)
        fee = node.fee(assemble(sender, bytes(64), extra, call))
        if why := chain.refusal(fee, self.journal.fees(name)):
            raise Refused(why)
        return {
            "chain": name, "rule": rule.name, "asset": move.asset, "amount": str(move.amount),
                "fee": str(fee),
            "receiver": move.receiver, "nonce": nonce, "block": block,
            "call_hash": "0x" + blake2b(call, digest_size=32).hexdigest(),
            "sender": sender.hex(), "extra": extra.hex(), "call": call.hex(),
                "additional": additional.hex(),
        }  # fmt: skip

    def _finish(self, entry: dict[str, Any]) -> None:
        """Sign what the journal says, unless it is signed, and send it."""
        seq, chain, name = entry["seq"], entry["chain"], f"{entry['job']}/{entry['seq']}"
        if "tx" not in entry:
            sender, extra, call, additional = (
                bytes.fromhex(entry[each]) for each in ("sender", "extra", "call", "additional")
            )
            signature = self.key.sign(bytes_to_sign(call, extra, additional))
            signed = assemble(sender, signature, extra, call)
            self.journal.write(event="signed", seq=seq, tx="0x" + signed.hex())
        tx = self.journal.drafts[seq]["tx"]
        if seq not in self._told:
            self._told.add(seq)
            try:
                # It marks the draft as sent. Whether it tells the truth is seen on the chain, at
                # the next look. Again: a crash or a lost answer may have left it in the daemon's
                # store, but in no block.
                self.daemon.ask(
                    "/api/chain/Broadcast",
                    chain=chain,
                    tx=tx,
                    job=entry["job"],
                    draft=seq,
                    again=True,
                )
                return
            except (Refused, Unreachable) as why:
                self.say(f"{name}: sending it to your node: {why}")
        try:
            self.nodes[chain].submit(tx)
        except NodeError as why:
            self.say(f"{name}: {why}; waiting until block {entry['block'] + PERIOD} is final")

    def _settle(self) -> bool:
        """Find out from your node what became of a transaction; tell whether nothing is under way.

        Only final blocks decide: no fork, and no node that is behind, takes back what was counted
        on.
        """
        for entry in self.journal.open():
            node, last = self.nodes[entry["chain"]], entry["block"] + PERIOD
            finalized = node.finalized()
            if node.nonce(self.key.public_key, node.block_hash(finalized)) > entry["nonce"]:
                tx, first = entry.get("tx", ""), entry["block"]
                if block := node.find(tx, first=first, last=min(last, finalized)):
                    self._end(entry, "finalized", block)
                else:
                    self._end(
                        entry, "replaced", f"another transaction has its nonce {entry['nonce']}"
                    )
            elif finalized > last:
                self._end(entry, "expired", f"no block up to {last} has it")
            else:
                if node.nonce(self.key.public_key) <= entry["nonce"]:
                    # The same nonce, block and call: of all that is ever signed for it, one can be
                    # included.
                    self._finish(entry)
                return False
        return True

    def _end(self, entry: dict[str, Any], status: str, what: str) -> None:
        self.journal.write(event="outcome", seq=entry["seq"], status=status, what=what)
        self.say(f"{entry['job']}/{entry['seq']}: {status}: {what}")


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
    first = {"event": "start", "account": key.ss58_address, "cursors": {}, "time": time.time()}
    try:
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write(json.dumps(first) + "\n")
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        raise SystemExit(
            f"the journal {path} exists: a second one would forget what was signed"
        ) from None
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


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
            if signer.look() and (given.once or given.command == "init"):
                return
        except (Unreachable, Refused) as error:
            signer.say(str(error))
        time.sleep(PAUSE)


if __name__ == "__main__":
    main()
