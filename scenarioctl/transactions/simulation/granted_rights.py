"""The rights that a transaction gives to others: no simulation shows what they will do with them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scenarioctl.transactions.simulation.findings import Findings
    from scenarioctl.transactions.wording.phrases import Reading


def check_granted_rights(findings: "Findings", reading: "Reading", sender: bytes) -> None:
    """Say which rights are given to anybody but *sender*, and leave open what comes of them."""
    for right in reading.rights:
        if right.accounts != {sender}:
            findings.rights.append(right.sentence)
            findings.unknowns.append(right.sentence)
