"""How often chains appear in stored scenarios."""

from dataclasses import dataclass
from typing import TypedDict

from scenarioctl.application import Application
from scenarioctl.model.request_fields import ChainName
from scenarioctl.operations.results import Result

__all__ = ["count_templates"]


@dataclass(frozen=True, kw_only=True)
class CountTemplates:
    """Count the stored scenarios in which a chain appears."""

    chain: ChainName


class TemplateCount(TypedDict):
    Amount: int


async def count_templates(app: Application, request: CountTemplates) -> Result[TemplateCount]:
    chain = app.registry.find_in_path(request.chain)
    return Result(answer={"Amount": await app.store.count_scenarios(chain.name)})
