"""What runs have left behind, read from a store."""

from collections.abc import Sequence
from types import NoneType

from scenarioctl.model.jobs import NO_TRANSACTION, KeptRun, LogLine, MempoolDraft, MempoolEntry
from scenarioctl.stores import job_statements as statements
from scenarioctl.stores.job_texts import PORTION, read_steps
from scenarioctl.stores.operations import Operation, Row, Table, find, find_all
from scenarioctl.stores.validation import INTEGER_MAX, unknown

#: Drafts that are read before it is seen how long they are.
_FEW = 10


def read_log(id: str | None, *, after: int, limit: int) -> Operation[list[LogLine]]:
    statement = statements.READ_LOG if id is None else statements.READ_LOG_OF_JOB
    rows = yield from _find_after(statement, id, after, limit)
    return [_read_line(row) for row in rows]


def read_mempool(id: str | None, *, after: int, limit: int) -> Operation[list[MempoolEntry]]:
    statement = statements.READ_MEMPOOL if id is None else statements.READ_MEMPOOL_OF_JOB
    found: list[MempoolEntry] = []
    room, some = PORTION, _FEW
    # A draft may be as long as a transaction.
    while not limit or (room > 0 and len(found) < limit):
        asked = min(some, limit - len(found)) if limit else 0
        rows = yield from _find_after(statement, id, found[-1].seq if found else after, asked)
        for entry in map(_read_entry, rows):
            if not limit or room > 0:
                found.append(entry)
                room -= len(entry.draft.tx)
        if len(rows) < asked or not limit:
            break
        some *= 4
    return found


def uuids_of_drafts(seqs: Sequence[int]) -> Operation[dict[int, str]]:
    return {seq: str(uuid) for seq, uuid in (yield statements.UUIDS_OF_DRAFTS, {"drafts": list(seqs)})}


def _find_after(statement: str, id: str | None, after: int, limit: int) -> Operation[list[Row]]:
    """Return up to *limit* rows (0: all), oldest first; NotFound for an unknown job."""
    bounds = {"after": max(-1, min(after, INTEGER_MAX)), "limit": min(limit, INTEGER_MAX) or INTEGER_MAX}
    rows = yield statement, {"job": id, **bounds}
    if not rows and id is not None and (yield from find(statements.HAS_SCENARIO, id=id)) is None:
        raise unknown(id)
    return rows


def find_tail(id: str | None, *, lines: int, entries: int) -> Operation[tuple[int, int]]:
    statement = statements.FIND_TAIL if id is None else statements.FIND_TAIL_OF_JOB
    row = yield from find(statement, job=id, lines=lines, entries=entries)
    if row is None:
        raise unknown(str(id))
    return row[0], row[1]


def find_end() -> Operation[tuple[int, int]]:
    numbers: dict[str, int] = dict((yield from find_all(statements.FIND_END)))
    return numbers.get("log_lines", 0), numbers.get("mempool", 0)


def is_lost(counter: str, number: int) -> Operation[bool]:
    row = yield from find(statements.IS_LOST, counter=counter, number=min(number, INTEGER_MAX))
    return bool(row and row[0])


def last_runs(id: str, *, limit: int, before: int) -> Operation[list[KeptRun]]:
    before = min(before, INTEGER_MAX) or INTEGER_MAX
    rows = yield statements.LAST_RUNS, {"job": id, "before": before, "limit": limit}
    return [_read_run(row) for row in rows if _is_sound(row)]


def runs_of_each(ids: Sequence[str], *, limit: int) -> Operation[dict[str, list[KeptRun]]]:
    found: dict[str, list[KeptRun]] = {}
    if ids:
        rows = yield statements.RUNS_OF_EACH, {"each": Table([(id,) for id in ids]), "others": limit - 1}
        for job, *row in rows:
            if _is_sound(tuple(row)):
                found.setdefault(job, []).append(_read_run(tuple(row)))
    return found


def drafted_for() -> Operation[list[tuple[str, int]]]:
    found: list[tuple[str, int]] = []
    chain, version = "", -1
    while row := (yield from find(statements.NEXT_DRAFTED_FOR, chain=chain, spec_version=version)):
        chain, version = row
        if type(version) is int:
            found.append((chain, version))
    return found


def read_drafts(chain: str, spec_version: int, *, after: int, limit: int) -> Operation[list[MempoolEntry]]:
    rows = yield (
        statements.READ_DRAFTS,
        {"chain": chain, "spec_version": spec_version, "after": after, "limit": limit},
    )
    return [entry for entry in map(_read_entry, rows) if entry.draft.tx != NO_TRANSACTION]


# A row that somebody has damaged hides no other.


def _read_line(row: Row) -> LogLine:
    seq, job, written, text = row
    if type(written) is not int or type(text) is not str:
        written, text = 0, "This line is damaged in the store"
    return LogLine(seq=seq, job=job, written=written, text=text)


def _read_entry(row: Row) -> MempoolEntry:
    """Return the draft in *row*; one without a transaction if the row is damaged."""
    seq, job, flag, chain, amount, tx_type, date, tx, spec_version, expires, node, human, uuid, occurrence = (
        row
    )
    texts, times = (flag, chain, amount, tx_type, tx, node, human, uuid), (spec_version, expires, occurrence)
    if {*map(type, texts)} != {str} or type(date) is not int or not {*map(type, times)} <= {int, NoneType}:
        draft = MempoolDraft(chain=str(chain), amount="0", tx_type=str(tx_type), date=0, tx=NO_TRANSACTION)
        return MempoolEntry(seq=seq, job=job, flag="this draft is damaged in the store", draft=draft)
    draft = MempoolDraft(
        chain=chain,
        amount=amount,
        tx_type=tx_type,
        date=date,
        tx=tx,
        spec_version=spec_version,
        expires=expires,
        node=node,
        human=human,
        uuid=uuid,
    )
    return MempoolEntry(seq=seq, job=job, flag=flag, draft=draft, occurrence=occurrence)


def _is_sound(row: Row) -> bool:
    return tuple(map(type, row)) == (int, int, int, int, int, str, str)


def _read_run(row: Row) -> KeptRun:
    number, planned, started, finished, drafts, failure, steps = row
    return KeptRun(
        number=number,
        planned=planned,
        started=started,
        finished=finished,
        drafts=drafts,
        failure=failure,
        steps=read_steps(steps),
    )
