"""The live shells of one session, and what one command leaves to the next: the directory and harmless variables."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path

from north_lsp.lazy_dataclass import dataclass
from north_lsp.shell.bash import Bash
from north_lsp.shell.detached import DetachedProcess
from north_lsp.shell.environment import changes_meaning, looks_like_credential
from north_lsp.shell.options import Place
from north_lsp.shell.report import changed_exports, exporting, read_exports


@dataclass
class LiveShell:
    """A live shell and what North last set in it. `exports` are the variables that North carried over; `used` says that
    an earlier command may have left something in it, `once` that it ends with its one command; `renamed` are the
    variables of the session that took it over, which are still to be set."""

    bash: Bash
    used: bool = False
    once: bool = False
    exports: dict[str, str | None] = field(default_factory=dict)
    renamed: dict[str, str | None] = field(default_factory=dict)


@dataclass
class LiveShells:
    """The state of one session's shells. `cwd` is their directory once a command has run, `carried` are the variables
    that are carried from `session` to the others, `lost` says why what was in a shell is gone, `last_used` is by the
    monotonic clock. `marks` are those of commands whose processes may still be there, `stopping` the shells that a
    cancel stops; `of_jobs` and `detached` run in the sandbox beside them."""

    by_place: dict[Place, LiveShell] = field(default_factory=dict)
    cwd: Path | None = None
    carried: dict[str, str | None] = field(default_factory=dict)
    lost: str | None = None
    last_used: float = 0.0
    marks: set[str] = field(default_factory=set)
    stopping: set[Bash] = field(default_factory=set)
    of_jobs: list[Bash] = field(default_factory=list)
    detached: list[DetachedProcess] = field(default_factory=list)

    def held(self, is_contained: Callable[[Place], bool]) -> list[Bash]:
        """Return the shells that are in the sandbox."""
        self.of_jobs = [bash for bash in self.of_jobs if bash.alive]
        return [*(live.bash for place, live in self.by_place.items() if is_contained(place)), *self.of_jobs]

    def is_busy_inside(self, is_contained: Callable[[Place], bool]) -> bool:
        """Return whether anything runs in the sandbox."""
        held = [live.bash for place, live in self.by_place.items() if is_contained(place)]
        self.detached = [process for process in self.detached if process.detached_job.is_alive()]
        return (
            bool(self.detached)
            or any(bash.alive for bash in self.of_jobs)
            or any(bash.alive and bash.processes() for bash in held)
        )

    def changed_variables(self, place: Place) -> dict[str, str | None]:
        """Return the variables that a job must be given to be like the shell of its place."""
        live = self.by_place.get(place)
        if place in ("clean", "bare") or live is None or live.bash.first is None:
            return dict(self.carried)
        now = live.bash.report or live.bash.first
        return changed_exports(*(read_exports(one.exports) for one in (live.bash.first, now)))

    def preparing(self, live: LiveShell, where: Path, environ: Mapping[str, str]) -> str:
        """Return lines that prepare a shell for a command: the directory and the variables."""
        lines = []
        if live in (self.by_place.get("clean"), self.by_place.get("bare")):
            # Rules know where a link leads: `..` after a link must mean the same here. This lasts for one command.
            lines.append("\\builtin set -P")
        if live.bash.cwd() != where:
            lines.append(f"\\builtin cd -- {shlex.quote(str(where))} 2>/dev/null")
        lines += exporting(live.renamed, {})
        live.renamed = {}
        if live is not self.by_place.get("session"):
            names = live.exports.keys() | self.carried.keys()
            wanted = {name: self.carried.get(name, environ.get(name)) for name in names}
            lines += exporting(wanted, live.exports)
            live.exports = dict(self.carried)
        return "; ".join(lines) or "\\builtin :"

    def carry(self, bash: Bash) -> None:
        """Carry over the variables that a command exported, except those that can change what a word means."""
        first, now = bash.first, bash.report
        if first is None or now is None or first.exports == now.exports:
            self.carried = {}
            return
        changed = changed_exports(read_exports(first.exports), read_exports(now.exports))
        self.carried = {name: value for name, value in changed.items() if _may_be_carried(name, value)}


def _may_be_carried(name: str, value: str | None) -> bool:
    # A credential is short, and searching a long value takes long.
    return not changes_meaning(name) and not looks_like_credential(name, (value or "")[:500])
