"""What scenarioctl speaks of: diagrams, calls, transactions, amounts.  Standard library only."""
