"""Tasks that run alongside turns for as long as the connection lasts. One that fails stops neither the others nor the
process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeVarTuple

import anyio
import anyio.abc

Arguments = TypeVarTuple("Arguments")


class Background(Protocol):
    """Starts tasks that outlive their starter. So does a plain task group, but it fails with the first of its tasks."""

    def start_soon(self, func: Callable[[*Arguments], Coroutine[Any, Any, Any]], *args: *Arguments) -> object: ...


class GuardedTasks:
    """A task group whose tasks fail independently: each exception is passed to `on_failure(where, error)`."""

    def __init__(self, tasks: anyio.abc.TaskGroup, on_failure: Callable[[str, BaseException], None]) -> None:
        self._tasks = tasks
        self._on_failure = on_failure

    def start_soon(self, func: Callable[[*Arguments], Coroutine[Any, Any, Any]], *args: *Arguments) -> None:
        self._tasks.start_soon(self._framed, func, args)

    def cancel(self) -> None:
        self._tasks.cancel_scope.cancel()

    async def _framed(self, func: Callable[..., Coroutine[Any, Any, Any]], args: tuple[Any, ...]) -> None:
        try:
            await func(*args)
        except Exception as error:  # noqa: BLE001 - the outermost frame of the task
            self._on_failure(f"background {getattr(func, '__qualname__', func)}", error)


@asynccontextmanager
async def guarded_tasks(on_failure: Callable[[str, BaseException], None]) -> AsyncIterator[GuardedTasks]:
    """Run tasks until they have ended or are canceled."""
    async with anyio.create_task_group() as tasks:
        yield GuardedTasks(tasks, on_failure)


@asynccontextmanager
async def beside(*work: Callable[[], Coroutine[Any, Any, None]]) -> AsyncIterator[anyio.abc.TaskGroup]:
    """Run work beside the body, and end it with the body, whose exception is raised as it is."""
    try:
        async with anyio.create_task_group() as tasks:
            for one in work:
                tasks.start_soon(one)
            try:
                yield tasks
            finally:
                tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        if len(group.exceptions) != 1:
            raise
        raise group.exceptions[0] from None
