"""What a runtime table answers when asked about one of its entries."""

from typing import NamedTuple


class Field(NamedTuple):
    """An argument of a call, or a parameter of a runtime API."""

    name: str
    type_id: int
    #: As the runtime's authors wrote it (`T::Balance`); empty where the metadata has none.
    type_name: str = ""


class Extension(NamedTuple):
    """A signed extension: what it adds to an extrinsic, and what it adds to the bytes that are
    signed."""

    identifier: str
    type_id: int
    additional_type_id: int


class StorageEntry(NamedTuple):
    """How one storage item is found and read."""

    pallet: str
    #: What is hashed for the first half of the key; nearly always the pallet's name.
    prefix: str
    name: str
    #: `Optional` (absent is None) or `Default` (absent is `default`).
    modifier: str
    #: One name for each part of the key (`Blake2_128Concat`, …); none for a plain value.
    hashers: tuple[str, ...]
    #: One type for each part of the key.
    key_types: tuple[int, ...]
    value_type: int
    #: SCALE.
    default: bytes


class ApiMethod(NamedTuple):
    """One method of a runtime API."""

    api: str
    name: str
    inputs: tuple[Field, ...]
    output_type: int
