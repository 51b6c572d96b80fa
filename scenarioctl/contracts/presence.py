"""Check whether a contract exists at an address, with pallet-contracts or pallet-revive."""

from typing import TYPE_CHECKING

from scenarioctl.errors import InvalidRequest

if TYPE_CHECKING:
    from scenarioctl.chains.client import Client

#: An address in pallet-revive, as on Ethereum; pallet-contracts knows contracts by account.
H160 = 20


async def is_contract(client: "Client", address: bytes) -> bool:
    """Return whether a contract exists at *address*: 20 bytes for pallet-revive, 32 for pallet-contracts."""
    table = await client.table()
    name = client.chain.name
    needed, other = ("Revive", "Contracts") if len(address) == H160 else ("Contracts", "Revive")
    if needed not in table.pallets:
        if other not in table.pallets:
            raise InvalidRequest(
                f"chain {name} has no contracts, {table} has neither pallet-contracts nor pallet-revive: "
                "expected one like assetHub"
            )
        known = (
            "by account, expected the contract's SS58 address and ink! metadata of version 3 to 5"
            if needed == "Revive"
            else "by 20 bytes, expected the contract's 0x address and ink! metadata of version 6"
        )
        raise InvalidRequest(f"chain {name} has pallet-{other.lower()}, which knows contracts {known}")
    if "AccountInfoOf" in table.storage_entries(needed):
        # One map has contracts and other accounts.
        account = await client.storage(needed, "AccountInfoOf", address)
        return account is not None and "Contract" in account["account_type"]
    return await client.storage(needed, "ContractInfoOf", address) is not None
