"""Receivers on Ethereum that pass on nothing that they get."""

from typing import TYPE_CHECKING

from scenarioctl.errors import InvalidRequest

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.chains.registry import Chain
    from scenarioctl.transactions.transfer.request import Transfer

#: The contract of Snowbridge on Ethereum (Snowfork/snowbridge, contracts/test/ForkUpgradeForAssetRecovery202510.t.sol, read 2026-11-23).
_GATEWAY = bytes.fromhex("27ca963c279c93801941e1eb8799c23f407d68e7")


def describe_contract(account: bytes, ethereum: "Chain", assets: "Assets") -> str:
    """Return which contract *account* is, if it is one that passes on nothing that it gets; "" if it isn't known to be one."""
    if account == _GATEWAY:
        return "the contract of Snowbridge itself on Ethereum"
    token = next((each for each in assets.all(ethereum) if each.id == f"0x{account.hex()}"), None)
    return "" if token is None else f"the contract of {token.display_name} on Ethereum"


def check_ethereum_receiver(transfer: "Transfer", assets: "Assets") -> None:
    """Refuse the contracts of tokens and of the bridge as the beneficiary of *transfer* to Ethereum."""
    ethereum, account = transfer.destination, transfer.beneficiary
    contract = describe_contract(account, ethereum, assets)
    if contract:
        written = ethereum.account_format.format(account, 0)
        raise InvalidRequest(field="beneficiary", problem=f"{written} is {contract}: what it gets is lost")
