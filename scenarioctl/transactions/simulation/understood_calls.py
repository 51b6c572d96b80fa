"""Calls that aren't understood, and contracts: what they do beside what a simulation shows is not known."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scenarioctl.transactions.simulation.findings import Findings
    from scenarioctl.transactions.wording.phrases import Reading


def check_understood_calls(findings: "Findings", reading: "Reading") -> None:
    """Leave open what a call does that has no words, or whose arguments its words don't fit."""
    findings.unknowns += reading.unknown
