"""A runtime upgrade under a running daemon: the chain's own, by `System.apply_authorized_upgrade`,
on a real runtime.

The new runtime is the old one with its version counted up, in the code and in what its metadata
tells.  Named so as to be the last module: the relay chain stays upgraded.
"""

import asyncio
import struct
import time
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from scenarioctl.application import Application
from scenarioctl.chains import pool
from scenarioctl.config import load_settings
from scenarioctl.model.calls import Call
from scenarioctl.transactions.extrinsic import bare_extrinsic
from scenarioctl.worker.chores import judge_drafts
from tests.live.conftest import Live

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("live_only")]

_CODE = "0x" + b":code".hex()
#: What compressed runtimes begin with.
_COMPRESSED = bytes.fromhex("52bc537646db8e05")
#: An i32.const of WebAssembly.
_CONSTANT = b"\x41"
REMARK = Call(pallet="System", method="remark_with_event", args={"remark": b"hello"})


def counted_up(code: bytes, version: int) -> bytes:
    """Return the runtime *code* with the version after *version*, wherever it stands in it."""
    import zstandard as zstd  # type: ignore[import-not-found,unused-ignore]  # of the extra `live`

    if code.startswith(_COMPRESSED):
        code = zstd.ZstdDecompressor().decompress(code[len(_COMPRESSED) :], max_output_size=1 << 27)
    code = code.replace(struct.pack("<I", version), struct.pack("<I", version + 1))
    code = code.replace(_CONSTANT + signed_leb(version), _CONSTANT + signed_leb(version + 1))
    compressed: bytes = zstd.ZstdCompressor().compress(code)
    return _COMPRESSED + compressed


def signed_leb(number: int) -> bytes:
    written = bytearray()
    while True:
        low, number = number & 0x7F, number >> 7
        if number == 0 and not low & 0x40:
            return bytes([*written, low])
        written.append(low | 0x80)


@dataclass(kw_only=True)
class Seen:
    """What was built while the chain was upgraded."""

    #: When each was begun, and the version it was built for.
    built: list[tuple[float, int]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    #: When the block with the new code was there.
    upgraded: float = 0.0


async def build(app: Application, seen: Seen) -> tuple[str, int]:
    """Build a transaction, and see whether its bytes are those of the version that it says."""
    started = time.monotonic()
    async with app.session() as session:
        table = await session.runtime(session.registry.find("liveRelay"))
        data = bare_extrinsic(table.encode_call(REMARK))
    version = table.constant("System", "Version")["spec_version"]
    if version != table.spec_version:
        seen.wrong.append(f"said {table.spec_version}, built for {version}")
    seen.built.append((started, table.spec_version))
    return "0x" + data.hex(), table.spec_version


async def upgrade(app: Application, seen: Seen) -> None:
    """Let the chain apply a new runtime, as one is applied that its governance has authorized."""
    async with app.session() as session:
        client = session.client(session.registry.find("liveRelay"))
        table = await client.table()
        code = bytes.fromhex((await client.call("state_getStorage", _CODE))[2:])
        new = await asyncio.to_thread(counted_up, code, table.spec_version)
        authorized = {
            "codeHash": "0x" + blake2b(new, digest_size=32).hexdigest(),
            "checkVersion": False,
        }
        await client.submit("dev_setStorage", {"System": {"AuthorizedUpgrade": authorized}})
        call = Call(pallet="System", method="apply_authorized_upgrade", args={"code": new})
        extrinsic = "0x" + bare_extrinsic(table.encode_call(call)).hex()
        await client.submit("author_submitExtrinsic", extrinsic)
        deadline = time.monotonic() + 60
        while (await client.call("state_getRuntimeVersion"))["specVersion"] == table.spec_version:
            assert time.monotonic() < deadline, "the chain did not take the new runtime"
            await asyncio.sleep(0.02)
        seen.upgraded = time.monotonic()


def test_an_upgrade_under_a_running_daemon_is_noticed_by_all(
    live_config: Path, relay: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("zstandard", reason="needs zstandard, to change the version in a runtime")
    # As for users: the other tests trust their nodes for longer.
    monkeypatch.setattr(pool, "QUIET", 1.0)
    monkeypatch.setattr(pool, "BELIEVED", 1.0)
    seen = Seen()

    async def work(app: Application) -> None:
        while not seen.upgraded or time.monotonic() < seen.upgraded + 3:
            await build(app, seen)
            await asyncio.sleep(0.005)

    async def run() -> list[Any]:
        app = Application(load_settings({"config": str(live_config)}, {}), served=True)
        try:
            before, old = await build(app, seen)
            working = [asyncio.create_task(work(app)) for _ in range(20)]
            await asyncio.sleep(0.2)
            await upgrade(app, seen)
            await asyncio.gather(*working)
            _, new = await build(app, seen)
            async with app.session() as session:
                return [old, new, await judge_drafts(session, relay.name, old, [before])]
        finally:
            await app.close()

    old, new, reasons = asyncio.run(run())

    # A version is believed for a second.
    late = [version for started, version in seen.built if started > seen.upgraded + 1.0]
    last_old = max(started for started, version in seen.built if version == old)
    print(
        f"\n{len(seen.built)} built, {len(late)} of them later than a second after the upgrade; "
        f"the last for the old runtime began {last_old - seen.upgraded:+.2f} s from it"
    )
    assert (new, seen.wrong) == (old + 1, [])
    assert set(late) == {new}
    # The same call has the same bytes: the draft stays good.
    assert reasons == [""]
