"""What the core knows of whatever runs commands."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from north_lsp.shell.options import Place

if TYPE_CHECKING:
    from north_lsp.shell.containment import Containment
    from north_lsp.shell.jobs import Jobs
    from north_lsp.shell.output import OutputSink
    from north_lsp.shell.results import CommandResult, ShellState


class Runner(Protocol):
    """Runs the commands of one session, and ends what they started."""

    jobs: Jobs

    @property
    def containment(self) -> Containment | None:
        """What watches over the sandbox; None where there is none."""
        ...

    @property
    def always_asks(self) -> str | None:
        """Why every command is asked about here, whatever was allowed before; None where approvals count."""
        ...

    @property
    def sandboxed(self) -> bool: ...

    @property
    def environ(self) -> Mapping[str, str]: ...

    @property
    def added(self) -> Mapping[str, str]: ...

    def is_contained(self, place: Place) -> bool: ...

    def argv_without_shell(self, command: str) -> list[str]: ...

    def state(self, fallback: Path) -> ShellState: ...

    def expect(self, paths: Sequence[Path]) -> None: ...

    async def run(
        self,
        command: str,
        cwd: Path | None,
        seconds: float,
        on_output: Callable[[str], Awaitable[None]],
        place: Place = "session",
        start: Path | None = None,
        sink: OutputSink | None = None,
        enough: int | None = None,
    ) -> CommandResult: ...

    async def find_detached(self) -> list[str]: ...

    async def begin_anew(self, why: str) -> bool: ...

    def take_over(self, other: Runner) -> None: ...

    async def end_all(self, grace: float) -> None: ...
