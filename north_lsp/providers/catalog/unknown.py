"""A placeholder for a model that does not exist under the name that was asked for. It answers with what is wrong and
sends nothing. No other model is used in its place, since that could be another company's."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from north_lsp.display import one_line
from north_lsp.providers.base import AssistantMessage, Failed, ModelRequest, StreamEvent
from north_lsp.providers.catalog.model_list import ModelList, UnknownModel
from north_lsp.providers.catalog.selectors import find
from north_lsp.providers.model import DEFAULT_OUTPUT, DEFAULT_WINDOW, FREE, Model, ProviderInfo

_INFO = ProviderInfo("unknown", "unknown", "Unknown", ())
_NEXT = "choose a model in the editor or with `/model <name>`, or correct --model or NORTH_MODEL"


def asked_for(known: ModelList, selector: str) -> Model:
    """Return the model that a selector picks, or a placeholder for it. Its key may be missing."""
    try:
        return find(known, selector)
    except UnknownModel as error:
        return missing_model(selector, f"{error}; {_NEXT}")


def missing_model(selector: str, problem: str) -> Model:
    title = f"{one_line(selector)} (unknown)"
    return Model(_INFO, selector, selector, title, DEFAULT_WINDOW, DEFAULT_OUTPUT, FREE, api="unknown", problem=problem)


class UnknownProvider:
    """Fails every request with the same message."""

    def __init__(self, problem: str) -> None:
        self._problem = problem

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        yield Failed("bad_request", self._problem, AssistantMessage(()))

    async def aclose(self) -> None:
        """Do nothing: there are no connections."""
