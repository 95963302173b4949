"""Tells the user's extensions of events. They run in this process with the user's rights, and only the user's own are
read."""

import inspect
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from north_lsp.display import one_line

if TYPE_CHECKING:
    from north_lsp.providers.catalog.extensions import Listener

_SECONDS = 5.0


class KeptByExtension(ValueError):
    """An extension keeps the conversation where it is; the text says which one, and why."""


class ExtensionFailed(Exception):
    """An extension did not answer as it should; the text says how."""


async def told_of(event: str, extensions: Path) -> Sequence["Listener"]:
    """Return what is told of an event, in its order; `extensions` is the user's folder of them."""

    def found() -> Sequence["Listener"]:
        if not extensions.is_dir():
            return ()
        from north_lsp.providers.catalog.extensions import listeners

        return listeners(extensions, event)

    return await anyio.to_thread.run_sync(found)


async def answer_of(one: "Listener", event: Mapping[str, object]) -> Mapping[str, Any]:
    """Have an extension handle an event, in limited time. Raises ExtensionFailed."""
    given = deepcopy(dict(event))  # what one does with it is nothing to the next
    answer: object = None
    try:
        with anyio.fail_after(_SECONDS):
            if inspect.iscoroutinefunction(one.handler):
                answer = await one.handler(given)
            else:
                answer = await anyio.to_thread.run_sync(one.handler, given, abandon_on_cancel=True)
    except TimeoutError:
        raise ExtensionFailed(f"did not answer `{one.event}` within {_SECONDS:g} s") from None
    except Exception as error:  # noqa: BLE001 - an extension may raise anything
        said = one_line(f"{type(error).__name__}: {error}", 300)
        raise ExtensionFailed(f"failed to handle `{one.event}` ({said})") from None
    if answer is not None and not isinstance(answer, Mapping):
        raise ExtensionFailed(f"answered `{one.event}` with something that is no dict")
    return answer or {}


def ensure_not_kept(one: "Listener", answer: Mapping[str, Any], kept: str) -> None:
    """Raise KeptByExtension if an answer cancels what was to happen; `kept` says what becomes of it."""
    if answer.get("cancel") is True:
        why = one_line(str(answer.get("reason", "")), 300)
        raise KeptByExtension(f"{kept}: the extension {one.path} keeps it there{f': {why}' if why else ''}")


def kept_by_failure(one: "Listener", error: ExtensionFailed, kept: str) -> KeptByExtension:
    """Return the refusal where an extension has failed: what it would have said is not known."""
    return KeptByExtension(f"{kept}: the extension {one.path} {error}; fix it, or take it out of its folder")


async def problems_after(event: str, extensions: Path, about: Mapping[str, object]) -> list[str]:
    """Tell of something that has happened; return what went wrong in extensions, a sentence each."""
    problems = list[str]()
    for one in await told_of(event, extensions):
        try:
            await answer_of(one, about)
        except ExtensionFailed as error:
            problems.append(f"the extension {one.path} {error}")
    return problems
