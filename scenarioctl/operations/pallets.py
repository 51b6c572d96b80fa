"""What the runtime of a chain has: pallets and runtime APIs, their items, and the types of those."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, TypedDict

from scenarioctl.application import Application
from scenarioctl.model.request_fields import ChainName, Value
from scenarioctl.operations.results import Result

if TYPE_CHECKING:
    from scenarioctl.transactions.runtime_query import Item

__all__ = ["list_pallets"]


@dataclass(frozen=True, kw_only=True)
class ListPallets:
    """List the pallets and runtime APIs of a chain, or describe one of them, or an item of it."""

    chain: ChainName
    #: `Balances`, `Balances.transfer_keep_alive`: a pallet or runtime API, and an item of it. Default: all of them, without items.
    item: Annotated[str, Value("PALLET[.ITEM]")] = ""


class PalletRow(TypedDict):
    name: str
    index: int
    calls: list[str]
    storage: list[str]
    constants: list[str]


class ApiRow(TypedDict):
    name: str
    methods: list[str]


class ParameterRow(TypedDict):
    name: str
    type: str
    #: What to write, like `an address` or `one of: Id, Index`.
    expected: str


ItemKind: TypeAlias = Literal["call", "storage", "constant", "method"]


class ItemRow(TypedDict):
    kind: ItemKind
    #: The pallet or runtime API.
    pallet: str
    name: str
    #: Arguments of a call or method, or keys of a storage map.
    parameters: list[ParameterRow]
    #: Of the value of a storage item or constant, or of a method's answer; null for a call.
    type: str | None
    #: Of a constant, as `query` prints it; null for everything else.
    value: str | None
    #: Whether an absent value of a storage item is null, and not the runtime's default; null for everything else.
    optional: bool | None


class TypeRow(TypedDict):
    name: str
    #: With all modules: two types can have one name.
    path: str
    definition: str


class PalletList(TypedDict):
    chain: str
    spec_name: str
    spec_version: int
    pallets: list[PalletRow]
    apis: list[ApiRow]
    #: The items of the pallet or runtime API, or the one that was named; empty for a list of all pallets.
    items: list[ItemRow]
    #: The types that a named item is made of; empty otherwise.
    types: list[TypeRow]


async def list_pallets(app: Application, request: ListPallets) -> Result[PalletList]:
    from scenarioctl.transactions.runtime_query import describe_types, find_items

    chain = app.registry.find_in_path(request.chain)
    pallet, _, name = request.item.strip().partition(".")
    table = await app.runtime(chain)
    pallets: list[str] | tuple[str, ...] = table.pallets
    apis: list[str] | tuple[str, ...] = table.apis
    items: list[Item] = []
    if request.item.strip():
        pallets, apis, items = find_items(table, chain, pallet.strip(), name.strip())
    types = describe_types(table, [type_id for item in items for type_id in item.types]) if name else []
    places = table.pallet_indices()
    return Result(
        answer={
            "chain": chain.name,
            "spec_name": table.spec_name,
            "spec_version": table.spec_version,
            "pallets": [
                {
                    "name": each,
                    "index": places[each],
                    "calls": list(table.methods(each)),
                    "storage": list(table.storage_entries(each)),
                    "constants": list(table.constants(each)),
                }
                for each in pallets
            ],
            "apis": [{"name": each, "methods": list(table.api_methods(each))} for each in apis],
            "items": [_describe(item) for item in items],
            "types": [
                {"name": name, "path": path, "definition": definition} for name, path, definition in types
            ],
        },
        warnings=app.runtime_warnings(chain, table),
        large=True,
    )


def _describe(item: "Item") -> ItemRow:
    return {
        "kind": item.kind,
        "pallet": item.pallet,
        "name": item.name,
        "parameters": [
            {"name": each.name, "type": each.type, "expected": each.expected} for each in item.parameters
        ],
        "type": item.type,
        "value": item.value,
        "optional": item.optional,
    }
