"""What a check has found so far: each part of a check adds to it, and the verdict is drawn from it
in the end."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from scenarioctl.chains.locations import seen_from
from scenarioctl.model.checks import Amount, Holding, Step

if TYPE_CHECKING:
    from scenarioctl.chains.assets import Asset, Assets
    from scenarioctl.chains.registry import Chain
    from scenarioctl.model.json_types import Verdict


@dataclass(kw_only=True)
class Findings:
    """What is known of one transaction; refusals outweigh open questions, and those an ok."""

    steps: list[Step] = field(default_factory=list)
    #: Why it does not do what its sender wants.
    refusals: list[str] = field(default_factory=list)
    #: What no chain could prove.
    unknowns: list[str] = field(default_factory=list)
    #: Those of them that tell what may run instead of what was tried: told whatever the verdict.
    branches: list[str] = field(default_factory=list)
    #: Who may act for the signer, spend or unlock from now on.
    rights: list[str] = field(default_factory=list)
    #: What the signer, or a receiver, has no longer or can't spend.
    losses: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    #: What leaves accounts other than the chains' own, and what accounts get, on every chain.
    leaves: list[Holding] = field(default_factory=list)
    credits: list[Holding] = field(default_factory=list)
    #: What should arrive in the end, and what is credited there by the dry run.
    computed: Amount | None = None
    credited: Amount | None = None

    @property
    def told(self) -> tuple[str, ...]:
        """All that the signer should know, in the order of danger."""
        branches = self.branches if self.refusals else ()
        return tuple(dict.fromkeys((*self.rights, *branches, *self.losses, *self.warnings)))

    def add(self, other: "Findings", *, when: str) -> None:
        """Take over what *other* says of what a multisig, its sender, does *when* all approve."""
        for name in ("refusals", "unknowns", "branches", "rights", "losses", "warnings"):
            getattr(self, name).extend(f"{when}: {said}" for said in getattr(other, name))
        for own, more in ((self.leaves, other.leaves), (self.credits, other.credits)):
            own += [
                replace(each, role="the multisig") if each.role == "the sender" else each
                for each in more
            ]

    @property
    def verdict(self) -> "Verdict":
        return "refused" if self.refusals else "unknown" if self.unknowns else "ok"

    @property
    def reasons(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.refusals or self.unknowns))

    def add_step(
        self, chain: "Chain", what: str, asset: "Asset", value: int, *, at_most: bool = False
    ) -> None:
        amount = amount_of(asset, value)
        self.steps.append(Step(chain=chain.name, what=what, amount=amount, at_most=at_most))

    def lose(self, chain: "Chain", what: str, amount: Amount, sentence: str) -> None:
        """Add a loss to the steps, and its *sentence* to what is told."""
        self.steps.append(Step(chain=chain.name, what=what, amount=amount))
        self.losses.append(sentence)


def amount_of(asset: "Asset", value: int) -> Amount:
    """Return *value* smallest units of *asset*, as it is printed."""
    return Amount(value=value, asset=asset.display_name, decimals=asset.decimals)


def asset_at(assets: "Assets", chain: "Chain", identity: str) -> "Asset | None":
    """Return the asset of *chain* that lives at *identity*, an absolute location; None where none
    is listed."""
    return assets.at(chain, seen_from(identity, chain.para_id))


def amount_at(assets: "Assets", chain: "Chain", identity: str, value: int) -> Amount:
    """Return *value* smallest units of what lives at *identity*, as it is printed on *chain*."""
    asset = asset_at(assets, chain, identity)
    if asset is None:
        return Amount(value=value, asset=seen_from(identity, chain.para_id))
    return amount_of(asset, value)
