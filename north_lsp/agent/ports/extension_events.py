"""Tells the user's extensions of what happens in a conversation. They run in this process with the user's rights, and
only the user's own are read."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from north_lsp.display import one_line
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.catalog.extension_places import ExtensionPlaces

if TYPE_CHECKING:
    from north_lsp.providers.catalog.extensions import Listener

SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What one extension says about an event; `problem` says how it did not answer as it should, empty if it did."""

    extension: Path
    content: Mapping[str, Any]
    problem: str = ""

    @property
    def cancels(self) -> bool:
        return self.content.get("cancel") is True

    @property
    def why(self) -> str:
        """Why it cancels, if it says so."""
        return one_line(str(self.content.get("reason", "")), 300)


@dataclass(frozen=True, slots=True)
class ExtensionEvents:
    """The extensions at some places; None has none."""

    places: ExtensionPlaces | None = None

    async def tell(self, event: str, about: Mapping[str, object]) -> AsyncIterator[Answer]:
        """Tell all that listen to an event, one after the other; yields what each answers. None has longer than 5
        seconds."""
        for one in await self._listeners(event):
            yield await _answer(one, about)

    async def has(self, event: str) -> bool:
        """Tell whether any extension listens to an event."""
        return bool(await self._listeners(event))

    async def _listeners(self, event: str) -> Sequence[Listener]:
        places = self.places
        if places is None or not places.may_have_any:
            return ()

        def found() -> Sequence[Listener]:
            from north_lsp.providers.catalog.extensions import listeners  # only where there are any

            return listeners(places, event)

        return await anyio.to_thread.run_sync(found)


NO_EXTENSIONS = ExtensionEvents()


async def _answer(one: Listener, about: Mapping[str, object]) -> Answer:
    given = deepcopy(dict(about))  # what one does with it is nothing to the next
    answer: object = None
    try:
        with anyio.fail_after(SECONDS):
            if inspect.iscoroutinefunction(one.handler):
                answer = await one.handler(given)
            else:
                answer = await anyio.to_thread.run_sync(one.handler, given, abandon_on_cancel=True)
    except TimeoutError:
        return Answer(one.path, {}, f"did not answer `{one.event}` within {SECONDS:g} s")
    except Exception as error:  # noqa: BLE001 - an extension may raise anything
        said = one_line(f"{type(error).__name__}: {error}", 300)
        return Answer(one.path, {}, f"failed to handle `{one.event}` ({said})")
    if answer is not None and not isinstance(answer, Mapping):
        return Answer(one.path, {}, f"answered `{one.event}` with something that is not a dict")
    return Answer(one.path, answer or {})
