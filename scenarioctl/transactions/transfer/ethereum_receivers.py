"""Receivers on Ethereum that pass on nothing that they get."""

from typing import TYPE_CHECKING

from scenarioctl.errors import InvalidRequest

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Assets
    from scenarioctl.transactions.transfer.request import Transfer

#: The contract of Snowbridge on Ethereum (Snowfork/snowbridge, contracts/test/ForkUpgradeForAssetRecovery202510.t.sol, read 2026-11-23).
_GATEWAY = bytes.fromhex("27ca963c279c93801941e1eb8799c23f407d68e7")


def check_ethereum_receiver(transfer: "Transfer", assets: "Assets") -> None:
    """Refuse the contracts of tokens and of the bridge as the beneficiary of *transfer* to Ethereum."""
    ethereum, account = transfer.destination, transfer.beneficiary
    written = ethereum.account_format.format(account, 0)
    if account == _GATEWAY:
        raise InvalidRequest(
            f"beneficiary {written} is the contract of Snowbridge itself on Ethereum: what it gets is lost"
        )
    for token in assets.all(ethereum):
        if token.id == written.lower():
            raise InvalidRequest(
                f"beneficiary {written} is the contract of {token.display_name} on Ethereum: what it gets is lost"
            )
