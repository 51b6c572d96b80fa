"""The call that claims what is in the asset trap of a chain."""

from typing import TYPE_CHECKING, Any

from scenarioctl.model.calls import Call
from scenarioctl.transactions.transfer.xcm_versions import shape_location

if TYPE_CHECKING:
    from scenarioctl.chains.registry import Chain


def build_claim(chain: "Chain", pallet: str, assets: Any, beneficiary: bytes) -> Call:
    """Return the call of the XCM *pallet* of *chain* that claims *assets*, a VersionedAssets, for *beneficiary*.

    The trap keeps a hash of the assets in one version of XCM, so the call names them in that version.
    """
    version = next(iter(assets))
    account = {"parents": 0, "interior": {"X1": [chain.account_format.junction(beneficiary)]}}
    location = shape_location(account, int(version[1:]))
    return Call(
        pallet=pallet,
        method="claim_assets",
        args={"assets": assets, "beneficiary": {version: location}},
    )
