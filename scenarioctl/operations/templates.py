"""How often chains appear in stored scenarios."""

from dataclasses import dataclass

from scenarioctl.application import Application

__all__ = ["count_templates"]


@dataclass(frozen=True, kw_only=True)
class CountTemplates:
    """Count the stored scenarios in which a chain appears."""

    chain: str


@dataclass(frozen=True, kw_only=True)
class TemplateCount:
    amount: int

    def answer(self) -> dict[str, int]:
        return {"Amount": self.amount}


async def count_templates(app: Application, request: CountTemplates) -> TemplateCount:
    chain = app.registry.find_in_path(request.chain)
    return TemplateCount(amount=await app.store.count_scenarios(chain.name))
