"""Change one operator, condition or statement of a file at a time, and see which changes no test
notices.

    python tools/mutants.py scenarioctl/runtime/scale.py --count 60 --seed 1 \
        --tests tests/test_scale.py tests/test_golden.py
    python tools/mutants.py scenarioctl/transactions/simulation/simulate.py --deletions --tests
    tests/test_check_calls.py python tools/mutants.py --money --count 10

Works in a copy of the checkout, takes a random sample, and writes one line for each mutant.
`--money` leaves out calls and statements of the files that decide over money, so many of each
group, with the tests that should notice.  What survived is judged by hand; the last judgment is in
benchmarks/RESULTS.md.
"""

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parent.parent
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
}
#: In texts that are SQL: what is replaced wherever it stands.
SQL = re.compile(r"\b(SELECT|INSERT|UPDATE|DELETE|WHERE|ORDER BY)\b")
SQL_CHANGES = (
    (" AND ", " OR "),
    (" < ", " <= "),
    (" <= ", " < "),
    (" > ", " >= "),
    (" >= ", " > "),
    (" = ", " <> "),
    (" DESC", " ASC"),
    (" IS NULL", " IS NOT NULL"),
    (" + ", " - "),
    ("max(", "min("),
)

#: What decides over money, in `scenarioctl/`, and the tests that notice what is left out there.
MONEY: dict[str, str] = {
    "transactions/transfer/*.py": ("route_vectors bridges remote_fee transfer parachains trust"),
    "transactions/*_transfer.py transactions/*_prices.py transactions/keyless_accounts.py": (
        "connected bridges remote_fee maximum keyless parachains bad_input"
    ),
    "transactions/simulation/*.py": (
        "costs programs swap_checks bridges unlisted_assets para_ids ledger branches "
        "conservation untold dust credits "
        "balance_events arrived_locked inner_failures granted_rights fee_asset fee_beside "
        "check parachains remote_fee confirmation"
    ),
    "transactions/swap/*.py transactions/trades.py": (
        "quoting quote swap swap_checks programs dynamic_fees"
    ),
    "transactions/inner_calls.py transactions/xcm_*.py": (
        "programs nested_calls ordered_words branches swap_checks xcm_instructions"
    ),
    "transactions/signing/*.py transactions/extrinsic.py transactions/blocks.py": (
        "assembly signing fee_asset expected_payloads signatures wallets bad_input"
    ),
    "transactions/submission/*.py": (
        "broadcast confirmed_status transaction_status arrivals asset_traps"
    ),
}


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A text in place of what stands from *start* to *end*, in bytes."""

    line: int
    start: int
    end: int
    before: str
    after: str
    #: Whether it only leaves something out.
    deletes: bool = False


class Finder:
    """The mutants of a source."""

    def __init__(self, source: str) -> None:
        self._source = source.encode()
        self._starts = [0]
        for line in self._source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def find(self) -> list[Mutant]:
        return list(self._walk(ast.parse(self._source)))

    def _walk(self, node: ast.AST) -> Iterator[Mutant]:
        # Not what only type checkers read, nor what an error says.
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        yield from self._leave_out_calls(node)
        yield from self._change(node)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list") or (
                isinstance(node, ast.Raise) and name == "exc"
            ):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from self._walk(child)

    def _leave_out_calls(self, node: ast.AST) -> Iterator[Mutant]:
        """Leave out what conditions call, and what is done under them; what is only raised is left
        out as a statement."""
        match node:
            case ast.If(test=test, body=[first, *_], orelse=[]) if not isinstance(first, ast.Raise):
                yield self._put(test, "False", deletes=True)
            case ast.BoolOp(op=joint, values=values):
                for value in values:
                    if any(isinstance(each, ast.Call) for each in ast.walk(value)):
                        yield self._put(value, str(isinstance(joint, ast.And)), deletes=True)
            case _:
                pass

    def _change(self, node: ast.AST) -> Iterator[Mutant]:
        match node:
            case ast.Compare(ops=[first, *rest]) if type(first) in COMPARISONS:
                new = ast.Compare(node.left, [COMPARISONS[type(first)](), *rest], node.comparators)
                yield self._put(node, f"({ast.unparse(new)})")
            case ast.BinOp(op=operator) if type(operator) in OPERATORS:
                sum_ = ast.BinOp(node.left, OPERATORS[type(operator)](), node.right)
                yield self._put(node, f"({ast.unparse(sum_)})")
            case ast.BoolOp(op=joint, values=values):
                other = ast.Or() if isinstance(joint, ast.And) else ast.And()
                yield self._put(node, f"({ast.unparse(ast.BoolOp(other, values))})")
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield self._put(node, f"({ast.unparse(operand)})")
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                yield self._put(test, f"(not ({ast.unparse(test)}))")
            case ast.Constant(value=bool() as truth):
                yield self._put(node, str(not truth))
            case ast.Constant(value=int() as number):
                yield self._put(node, str(number + 1))
            case ast.Constant(value=str() as text) if SQL.search(text):
                for old, new_text in SQL_CHANGES:
                    if old in text:
                        yield self._put(node, repr(text.replace(old, new_text, 1)))
            case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
                yield self._put(value, "None")
            case (
                ast.Raise()
                | ast.AugAssign()
                | ast.Expr(value=ast.Call() | ast.Await() | ast.Yield() | ast.YieldFrom())
            ):
                yield self._put(node, "pass", deletes=True)
            case ast.Break():
                yield self._put(node, "continue")
            case ast.Continue():
                yield self._put(node, "break")
            case _:
                pass

    def _put(self, node: ast.AST, after: str, *, deletes: bool = False) -> Mutant:
        assert isinstance(node, (ast.expr, ast.stmt))
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = self._starts[node.lineno - 1] + node.col_offset
        end = self._starts[node.end_lineno - 1] + node.end_col_offset
        before = self._source[start:end].decode()
        return Mutant(
            line=node.lineno, start=start, end=end, before=before, after=after, deletes=deletes
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*", help="of the checkout, to be changed")
    parser.add_argument("--tests", nargs="+", default=[], help="what pytest runs")
    parser.add_argument("--money", action="store_true", help="the files of MONEY, with --deletions")
    parser.add_argument(
        "-k", dest="picked", default="", help="which of those tests, as pytest takes it"
    )
    parser.add_argument("--count", type=int, default=60, help="how many mutants, chosen at random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lines", default="", help="only these lines, as FIRST-LAST")
    parser.add_argument(
        "--deletions", action="store_true", help="only those that leave something out"
    )
    parser.add_argument(
        "--timeout", type=float, default=300.0, help="seconds for the tests of one mutant"
    )
    options = parser.parse_args()
    if options.money == bool(options.files or options.tests):
        parser.error("pass files and --tests, or --money")
    groups: list[tuple[list[str], list[str]]] = [(options.files, options.tests)]
    if options.money:
        options.deletions = True
        package = ROOT / "scenarioctl"
        groups = [
            (
                sorted(
                    str(each.relative_to(ROOT))
                    for part in files.split()
                    for each in package.glob(part)
                ),
                [f"tests/test_{name}.py" for name in tests.split()],
            )
            for files, tests in MONEY.items()
        ]
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder, "tree")
        ignored = shutil.ignore_patterns(
            ".git", ".venv*", ".mypy_cache", ".hypothesis", "node_modules"
        )
        shutil.copytree(ROOT, copy, ignore=ignored)
        for files, tests in groups:
            try_mutants(copy, files, tests, options)


def try_mutants(
    copy: Path, files: list[str], tests: list[str], options: argparse.Namespace
) -> None:
    """Try some mutants of *files* with *tests*, and print what became of each."""
    tests = [*tests, *(("-k", options.picked) if options.picked else ())]
    first, _, last = options.lines.partition("-")
    found = [
        (name, mutant)
        for name in files
        for mutant in Finder((ROOT / name).read_text()).find()
        if not first or int(first) <= mutant.line <= int(last or first)
        if not options.deletions or mutant.deletes
    ]
    chosen = Random(options.seed).sample(found, min(options.count, len(found)))
    if outcome := try_tests(copy, tests, options.timeout):
        sys.exit(f"the tests fail without a change: {outcome}")
    survived = 0
    for name, mutant in sorted(chosen, key=lambda pair: (pair[0], pair[1].start)):
        source = (copy / name).read_bytes()
        changed = source[: mutant.start] + mutant.after.encode() + source[mutant.end :]
        write(copy / name, changed)
        outcome = try_tests(copy, tests, options.timeout)
        write(copy / name, source)
        survived += not outcome
        print(
            f"{outcome or 'SURVIVED'}\t{name}:{mutant.line}\t{mutant.before!r} -> {mutant.after!r}",
            flush=True,
        )
    print(f"{len(chosen)} of {len(found)} mutants tried, {survived} survived", flush=True)


def write(path: Path, source: bytes) -> None:
    """Write a source with a later time each, since its kept bytecode is told by time in seconds and
    size."""
    later = path.stat().st_mtime + 10
    path.write_bytes(source)
    os.utime(path, (later, later))


def try_tests(copy: Path, tests: list[str], timeout: float) -> str:
    """Return how the tests noticed that something is wrong; empty if they did not."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-qq",
        "-p",
        "no:cacheprovider",
        "--no-header",
        "--tb=no",
    ]
    process = subprocess.Popen(
        [*command, "-m", "not soak and not acceptance", *tests],
        cwd=copy,
        # Before the checkout, which is installed in development mode.
        env=os.environ | {"PYTHONPATH": str(copy)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return "killed" if process.wait(timeout) else ""
    except subprocess.TimeoutExpired:
        return "timeout"
    finally:
        # With the daemons that a test left.
        try:
            os.killpg(process.pid, 9)
        except ProcessLookupError:
            pass
        process.wait()


if __name__ == "__main__":
    main()
