"""scalecodec, another implementation, reads the same calls from the bytes that we encode."""

from pathlib import Path
from random import Random

import pytest

from scenarioctl.runtime.metadata import read_metadata
from tests.conftest import DATA
from tests.generated_values import Generator
from tests.test_scale import _all_calls

V14 = sorted((DATA / "metadata").glob("*.v14.scale"))


@pytest.mark.parametrize("path", V14, ids=lambda path: path.name)
@pytest.mark.one_python
def test_scalecodec_reads_the_same_calls_from_the_same_bytes(path: Path) -> None:
    compared, calls = _compare_with_scalecodec(path, each=2)

    assert compared > 0.85 * calls > 500


def _compare_with_scalecodec(path: Path, each: int) -> tuple[int, int]:
    """Check that scalecodec reads our bytes to their end, and encodes what it read to the same
    bytes.

    Returns for how many of how many calls it could do both.  What it cannot do, in 1.2.12:
    `MultiAddress::Index` is read as if Compact<()> took bytes; `Some(None)` is read as None; a vote
    is read only with the convictions it knows; a bit sequence loses its last zeros; a call inside a
    call, and a list inside a struct without field names, are read but cannot be encoded from what
    was read.
    """
    from scalecodec.base import (
        RuntimeConfigurationObject,
        ScaleBytes,
    )
    from scalecodec.type_registry import load_type_registry_preset

    data = path.read_bytes()
    config = RuntimeConfigurationObject(implements_scale_info=True)
    config.update_type_registry(load_type_registry_preset("core"))
    metadata = config.create_scale_object("MetadataVersioned", data=ScaleBytes(bytearray(data)))
    metadata.decode()
    config.add_portable_registry(metadata)
    table = read_metadata(data)
    generator = Generator(table.types, Random(path.name))
    calls = compared = 0
    for pallet, method in _all_calls(table) * each:
        call = generator.call(table, pallet, method)
        if call is None or any(
            known in repr(call.args)
            for known in ("{'Index': None}", "{'Some': None}", "'vote':", "'bitfields': [{")
        ):
            continue
        calls += 1
        ours = table.encode_call(call)
        theirs = ScaleBytes(bytearray(ours))
        read = config.create_scale_object("Call", metadata=metadata)
        read.decode(theirs)
        assert theirs.get_remaining_length() == 0
        assert (read.value["call_module"], read.value["call_function"]) == (pallet, method)
        args = {argument["name"]: argument["value"] for argument in read.value["call_args"]}
        written = config.create_scale_object("Call", metadata=metadata)
        try:
            written.encode({"call_module": pallet, "call_function": method, "call_args": args})
        except (NotImplementedError, ValueError, AttributeError):
            continue
        assert bytes(written.data.data) == ours
        compared += 1
    return compared, calls
