"""The one port through which the core talks to an editor. Adapters implement it with what their client can do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from north_lsp.agent.ports.events import Event
from north_lsp.errors import ToolError
from north_lsp.tools.base import Command
from north_lsp.workspace.proposal import EditProposal, FileChange

NOBODY = "nobody can be asked here (the client says that it has no user interface)"


@dataclass(frozen=True, slots=True)
class EditDecision:
    """`reject` is the safe default. `stop` ends the turn as if the user had cancelled, `session` accepts this edit and
    those that follow in this conversation.

    An accepted proposal may be accepted in part: `hunks` names the ones that stand, by file (None: all of them), and
    `texts` has what the user made of a file's proposed text, whole and with the file's own line endings. `comment` is
    the user's word to the model.
    """

    kind: Literal["accept", "always", "session", "reject", "stop"]
    comment: str | None = None
    hunks: Mapping[Path, frozenset[str]] | None = None
    texts: Mapping[Path, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CommandDecision:
    """`deny` is the safe default. With `run` the user may have put another `command` in its place; `terminal` runs it
    in a terminal of the editor's that the user types into; `session` runs it and those that follow in this
    conversation, `all` those of the project."""

    kind: Literal["run", "terminal", "always", "rule", "all", "session", "deny", "stop"]
    comment: str | None = None
    command: str | None = None


@dataclass(frozen=True, slots=True)
class EditReview:
    """A question about a proposal. `warnings` say why it asks although the user may have switched reviews off;
    `may_remember` tells whether "always" may be offered."""

    proposal: EditProposal
    title: str
    may_remember: bool
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CommandReview:
    """A question about a command; it is shown whole. `reasons` say why what the user allowed before does not cover it,
    `rule` describes what "rule" would allow from now on, `held` what holds the command while it runs, and
    `may_use_terminal` and `may_remember_text` that "terminal" and "always" may be offered.
    `unsaved` are open files that the disk has other texts of."""

    call_id: str
    command: Command
    title: str
    may_remember: bool
    warnings: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    rule: str | None = None
    held: str | None = None
    may_use_terminal: bool = False
    unsaved: tuple[str, ...] = ()
    may_remember_text: bool = True


def decide_without_asking(review: CommandReview) -> CommandDecision:
    """The decision where nobody can be asked: what nothing allows is denied, and the model is told why."""
    reasons = [*(f"this command {warning}" for warning in review.warnings), *review.reasons]
    why = f" ({'; '.join(reasons)})" if reasons else ""
    return CommandDecision("deny", f"{NOBODY}: a command that needs approval is not run{why}")


@dataclass(frozen=True, slots=True)
class Choice:
    """A question with a few answers. `options` are ids and their names, the last one refuses; `id` is its own, and
    `detail` Markdown below it."""

    id: str
    question: str
    options: tuple[tuple[str, str], ...]
    detail: str = ""


def altered_by_editor(change: FileChange, why: str) -> ToolError:
    """The error for a file of which an editor made something else than what was accepted."""
    return ToolError(
        "IO_ERROR",
        f"the editor said that it wrote the accepted text of {change.relative}, but the file {why}; "
        "the edit does not stand",
        "read the file before going on",
    )


class Terminal(Protocol):
    """A command that runs in a terminal of the editor's own."""

    id: str

    async def output(self) -> str:
        """What it printed so far. Raises ToolError."""
        ...

    async def wait(self) -> int | None:
        """The exit code, once it has ended; None after a signal. Raises ToolError."""
        ...

    async def kill(self) -> None: ...

    async def release(self) -> None: ...


class UserInterface(Protocol):
    """Where the conversation is shown and the user is asked."""

    async def show(self, event: Event) -> None: ...

    async def review_edit(self, review: EditReview) -> EditDecision: ...

    async def review_command(self, review: CommandReview) -> CommandDecision: ...

    async def choose(self, choice: Choice) -> str | None:
        """The id of the chosen option; None if nobody answers, or the editor cannot ask."""
        ...

    async def open_terminal(self, argv: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> Terminal | None:
        """Run a program in the editor's own terminal; None if it has none. Raises ToolError."""
        ...


class OpenTexts(Protocol):
    """The editor's open texts."""

    async def unsaved_texts(self) -> Mapping[Path, str]:
        """Texts in the editor that may differ from the disk's, as far as the editor tells which those are."""
        ...

    async def read_unsaved(self, path: Path) -> str | None:
        """The text of a file that is open in the editor (unsaved changes included), or None. Raises UnsavedUnknown when
        the editor does not tell."""
        ...

    async def changes_owned_by_editor(self, changes: Sequence[FileChange]) -> Sequence[FileChange]:
        """The changes that are the editor's to write, at least those of its open files; the disk takes the rest."""
        ...

    async def apply(self, changes: Sequence[FileChange]) -> Sequence[FileChange]:
        """Write changes that it has claimed, all or none, as one undo step where it can, and have what was saved before
        saved again where it can. Returns them as they are now: editors format what they write. Raises ToolError when
        the editor refused or made something else of it: UNAVAILABLE if it is certain that it wrote nothing and the disk
        may be tried."""
        ...


class Editor(UserInterface, OpenTexts, Protocol):
    """Both halves; an adapter may take them from different objects."""
