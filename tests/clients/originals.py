"""originals.py FOLDER: run the interface's original clients, unchanged, against a daemon of this
checkout.  By hand.

FOLDER holds their repositories as git checkouts or bare git directories, found by name:
`threadbag`, `threadbag-examples`, `bagpipes-app`.  Nothing of them is kept here.  docs/migrate.md
says what differs for them.
"""

import argparse
import ast
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
BOB = "14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3"
#: Seconds that each client may take.
PATIENCE = 180


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the repositories are")
    parser.add_argument(
        "--polkadot", default="", help="ws:// address of a relay chain, for the signer"
    )
    parser.add_argument(
        "--packages",
        type=Path,
        help="folder for npm packages; kept, so that they are installed once",
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        with daemon(work) as (api, worker):
            scripts(given.folder, work, worker)
            packages = install(given.folder, given.packages or work / "packages")
            editor(given.folder, work, packages, api, worker)
            if given.polkadot:
                signer(given.folder, packages, api, worker, given.polkadot)
            else:
                print("signer: skipped, --polkadot names no chain")


@contextmanager
def daemon(home: Path) -> Iterator[tuple[str, str]]:
    """Yield the addresses of a daemon's two servers."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "scenarioctl", "--offline", "daemon"),
            *("--listen", "127.0.0.1:0", "--worker-listen", "127.0.0.1:0"),
        ],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HOME": str(home)},
    )
    assert process.stderr is not None
    found: dict[str, str] = {}
    while len(found) < 2:
        line = process.stderr.readline()
        if not line:
            raise SystemExit("the daemon did not start")
        for each in ("scenario API", "job worker"):
            if match := re.search(rf"{each} on (http://\S+)", line):
                found[each] = match[1].rstrip("/")
    try:
        yield found["scenario API"], found["job worker"]
    finally:
        process.terminate()
        process.communicate(timeout=30)


def repository(folder: Path, name: str) -> Path:
    """Return the git directory of the repository *name* in *folder*."""
    for path in sorted(folder.iterdir()):
        if path.name.rpartition("+")[2] == name:
            for candidate in (path / ".git", path / "repo", path):
                if (candidate / "HEAD").is_file():
                    return candidate
    raise SystemExit(f"{name} is not in {folder}")


def git(directory: Path, *words: str) -> str:
    return subprocess.run(
        ["git", f"--git-dir={directory}", *words], capture_output=True, text=True, check=True
    ).stdout


def scripts(folder: Path, work: Path, worker: str) -> None:
    """Run the newest version of each Python script that is Python."""
    directory = repository(folder, "threadbag")
    saved = ""
    for name in ("test_req.py", "start_job.py"):
        for commit in git(directory, "log", "--format=%h", "--", name).split():
            text = git(directory, "show", f"{commit}:{name}")
            try:
                ast.parse(text)
            except SyntaxError:
                continue
            break
        else:
            raise SystemExit(f"no version of {name} is Python")
        # Where the worker is, and which scenario is meant, are the script's own placeholders.
        text = text.replace("http://localhost:8081", worker)
        if saved:
            text = re.sub(r'(?m)^scenario_id = ".*"', f'scenario_id = "{saved}"', text, count=1)
        (work / name).write_text(text)
        done = run([sys.executable, str(work / name)])
        found = re.search(r"Scenario id saved as: (\S+)", done.stdout)
        saved = found[1] if found else saved
        report(f"{name} at {commit}", done)


def install(folder: Path, packages: Path) -> Path:
    """Install what the signer names, and what the editor's modules import."""
    packages.mkdir(parents=True, exist_ok=True)
    if not (packages / "node_modules" / "esbuild").is_dir():
        manifest = git(
            repository(folder, "threadbag-examples"),
            "show",
            "HEAD:ts-js/scenario_signer/package.json",
        )
        (packages / "package.json").write_text(manifest)
        options = (
            "--legacy-peer-deps",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
        )
        subprocess.run(
            ["npm", "install", "--prefix", str(packages), *options, "esbuild@0.25", "pako@2.1.0"],
            check=True,
        )
    return packages


def editor(folder: Path, work: Path, packages: Path, api: str, worker: str) -> None:
    """Drive the editor's own functions in Node: save, open, start, read the log, stop."""
    directory = repository(folder, "bagpipes-app")
    source = work / "editor"
    for path in git(directory, "ls-tree", "-r", "--name-only", "HEAD", "packages/client/src").split(
        "\n"
    ):
        if path.endswith((".js", ".ts", ".jsx", ".tsx")) and " " not in path:
            target = source / path.removeprefix("packages/client/src/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(git(directory, "show", f"HEAD:{path}"))
    text = (HERE / "editor.mjs").read_text()
    (packages / "editor.mjs").write_text(text)
    done = run(["node", str(packages / "editor.mjs"), str(source), api, worker])
    report("the editor's functions", done)


def signer(folder: Path, packages: Path, api: str, worker: str, polkadot: str) -> None:
    """Run the TypeScript signer with its placeholders filled: chain, worker, seed and scenario."""
    directory = repository(folder, "threadbag-examples")
    fields = {
        "source_chain": "polkadot",
        "dest_chain": "assetHub",
        "destination_address": BOB,
        "amount": 1,
        "assetid": 0,
        # What it checks is spelled for this version.
        "xcm_version": 3,
    }
    created = post(f"{api}/api/create/scenario", fields)
    if "result" not in created:
        raise SystemExit(f"the signer's scenario was refused: {created['error']}")
    scenario = created["result"]
    post(f"{worker}/job/run", {"id": scenario})
    base = "ts-js/scenario_signer/src"
    text = git(directory, "show", f"HEAD:{base}/sign_mempool.ts")
    for placeholder, value in (
        ("wss://rpc.ibp.network/polkadot", polkadot),
        ("http://localhost:8081", worker),
        ("add seed here", "//Alice"),
        ("DkaN7anZz", scenario),
    ):
        assert placeholder in text, placeholder
        text = text.replace(placeholder, value)
    (packages / "src").mkdir(exist_ok=True)
    (packages / "src" / "sign_mempool.ts").write_text(text)
    (packages / "src" / "bagpipes_types.ts").write_text(
        git(directory, "show", f"HEAD:{base}/bagpipes_types.ts")
    )
    bundle = packages / "sign_mempool.cjs"
    esbuild = packages / "node_modules" / ".bin" / "esbuild"
    run(
        [
            str(esbuild),
            str(packages / "src" / "sign_mempool.ts"),
            "--bundle",
            "--platform=node",
            f"--outfile={bundle}",
        ]
    )
    # It keeps its connection, and would never end.
    done = run(["timeout", "60", "node", str(bundle)])
    report("sign_mempool.ts", done, good=(0, 124))


def post(url: str, body: dict[str, Any]) -> Any:
    import requests

    return requests.post(url, json=body, timeout=60).json()


def run(command: list[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)


def report(
    name: str, done: "subprocess.CompletedProcess[str]", *, good: tuple[int, ...] = (0,)
) -> None:
    print(f"== {name}: {'ended' if done.returncode in good else 'FAILED'} ({done.returncode})")
    for line in (done.stdout + done.stderr).splitlines():
        print("  ", line if len(line) < 300 else f"{line[:297]}…")


if __name__ == "__main__":
    main()
