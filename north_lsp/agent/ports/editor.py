"""The one port through which the core talks to an editor. Adapters implement it as far as their client can."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.workspace import UnsavedTexts

if TYPE_CHECKING:
    from north_lsp.agent.ports.events import Event
    from north_lsp.agent.ports.forms import Form, FormAnswer, Page
    from north_lsp.tools.base import Command
    from north_lsp.workspace.proposal import EditProposal, FileChange

NOBODY = "nobody can be asked here (the client says that it has no user interface)"


@dataclass(frozen=True, slots=True)
class EditDecision:
    """The user's decision on an edit. `reject` is the safe default. `stop` ends the turn as if the user had cancelled
    it, `session` accepts this edit and those that follow in this conversation.

    A proposal may be accepted in part: `hunks` names the accepted ones, by file (None: all of them), and `texts` has
    what the user made of a file's proposed text, whole and with the file's own line endings. `comment` is the user's
    message to the model. `is_written`: the editor asked by itself, and has written what was accepted.
    """

    kind: Literal["accept", "always", "session", "reject", "stop"]
    comment: str | None = None
    hunks: Mapping[Path, frozenset[str]] | None = None
    texts: Mapping[Path, str] = field(default_factory=dict)
    is_written: bool = False


@dataclass(frozen=True, slots=True)
class CommandDecision:
    """The user's decision on a command. `deny` is the safe default. With `run`, the user may have replaced it by
    another `command`; `terminal` runs it in a terminal of the editor that the user can type into; `session` runs it and
    those that follow in this conversation, `all` those of the project."""

    kind: Literal["run", "terminal", "always", "rule", "all", "session", "deny", "stop"]
    comment: str | None = None
    command: str | None = None


@dataclass(frozen=True, slots=True)
class EditReview:
    """A question about a proposal. `warnings` say why it is asked even if the user has switched reviews off;
    `may_remember` says whether "always" may be offered. `asker` names the agent that proposes it; empty: the
    conversation's own model. `hold` is called once the editor has written it by itself: from then on nothing is
    cancelled before that is recorded. `late` records a decision that the editor has written after the question was
    withdrawn."""

    proposal: EditProposal
    title: str
    may_remember: bool
    warnings: tuple[str, ...] = ()
    asker: str = ""
    hold: Callable[[], None] = field(default=lambda: None, compare=False)
    late: Callable[[EditDecision], Awaitable[None]] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class CommandReview:
    """A question about a command, which is shown in full. `reasons` say why what the user allowed before does not cover
    it, `rule` describes what "rule" would allow from now on, `held` what contains the command while it runs, and
    `may_use_terminal` and `may_remember_text` whether "terminal" and "always" may be offered.

    `unsaved` are open files whose text differs from the disk's. `asker` names the agent that wants it; empty: the
    conversation's own model does.
    """

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
    asker: str = ""


def decide_without_asking(review: CommandReview) -> CommandDecision:
    """Decide on a command if nobody can be asked: what no permission covers is denied, and the model is told why."""
    reasons = [*(f"this command {warning}" for warning in review.warnings), *review.reasons]
    why = f" ({'; '.join(reasons)})" if reasons else ""
    return CommandDecision("deny", f"{NOBODY}: a command that needs approval is not run{why}")


@dataclass(frozen=True, slots=True)
class Choice:
    """A question with a few answers. `options` are ids and their names, the last of which refuses; `id` is the
    question's own, and `detail` is Markdown below it. `alike`: none of its options holds longer than the others;
    `scope` says what the one that does allows from then on. `call_id` is the tool call that asks, if it is one."""

    id: str
    question: str
    options: tuple[tuple[str, str], ...]
    detail: str = ""
    alike: bool = False
    scope: str = ""
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class Decided:
    """What became of a choice: the option's id, None if nobody answered; and what the user said beside it."""

    option: str | None
    comment: str | None = None


def altered_by_editor(change: FileChange, why: str) -> ToolError:
    """Make the error for a file that an editor wrote differently from what was accepted."""
    return ToolError(
        "IO_ERROR",
        f"the editor reported that it wrote the accepted text of {change.relative}, but the file {why}; "
        "treat the edit as failed",
        "read the file before you continue",
    )


class Terminal(Protocol):
    """A command that runs in a terminal of the editor."""

    id: str

    async def output(self) -> str:
        """Return what it has printed so far. Raises ToolError."""
        ...

    async def wait(self) -> int | None:
        """Wait for the end; returns the exit code, None after a signal. Raises ToolError."""
        ...

    async def kill(self) -> None: ...

    async def release(self) -> None: ...


class UserInterface(Protocol):
    """The part of an editor that shows the conversation and asks the user."""

    async def show(self, event: Event) -> None: ...

    async def review_edit(self, review: EditReview) -> EditDecision: ...

    async def review_command(self, review: CommandReview) -> CommandDecision: ...

    @property
    def has_user(self) -> bool:
        """Whether there is somebody who can be asked."""
        ...

    async def decide(self, choice: Choice) -> Decided:
        """Ask, for an answer that may come with a comment."""
        ...

    async def choose(self, choice: Choice) -> str | None:
        """Ask; returns the id of the chosen option, None if nobody answers or the editor cannot ask."""
        ...

    async def fill(self, form: Form) -> FormAnswer | None:
        """Show a form and wait for the user; None if the editor has no forms, so that `choose` is what is left."""
        ...

    async def open_page(self, page: Page) -> FormAnswer | None:
        """Ask the user to open a page in a browser; None if the editor opens none."""
        ...

    async def page_done(self, page: Page) -> None:
        """Tell the editor that what a page was opened for has happened."""
        ...

    async def open_terminal(self, argv: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> Terminal | None:
        """Run a program in a terminal of the editor; None if it has none. Raises ToolError."""
        ...


class OpenTexts(UnsavedTexts, Protocol):
    """The editor's open texts."""

    async def changes_owned_by_editor(self, changes: Sequence[FileChange]) -> Sequence[FileChange]:
        """Return the changes that the editor must write, at least those of its open files; the rest goes to the
        disk."""
        ...

    async def apply(self, changes: Sequence[FileChange]) -> Sequence[FileChange]:
        """Write changes that the editor owns, all or none, as one undo step where possible, and have files that were
        saved before saved again where possible. Returns the changes as written: editors format what they write. Raises
        ToolError if the editor refused or wrote something else: UNAVAILABLE if it certainly wrote nothing and the disk
        may be tried."""
        ...

    async def learn_of_disk(self, changes: Sequence[FileChange]) -> None:
        """Learn of changes that were written to the disk: until the editor tells of another text, those of its open
        files are older than the disk's."""
        ...


class Editor(UserInterface, OpenTexts, Protocol):
    """Both ports; an adapter may implement them with different objects."""


class PassingEditor:
    """An editor that hands everything on to another one: the base of those that change some of it."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor

    async def show(self, event: Event) -> None:
        await self._editor.show(event)

    async def review_edit(self, review: EditReview) -> EditDecision:
        return await self._editor.review_edit(review)

    async def review_command(self, review: CommandReview) -> CommandDecision:
        return await self._editor.review_command(review)

    @property
    def has_user(self) -> bool:
        return self._editor.has_user

    async def decide(self, choice: Choice) -> Decided:
        return await self._editor.decide(choice)

    async def choose(self, choice: Choice) -> str | None:
        return await self._editor.choose(choice)

    async def fill(self, form: Form) -> FormAnswer | None:
        return await self._editor.fill(form)

    async def open_page(self, page: Page) -> FormAnswer | None:
        return await self._editor.open_page(page)

    async def page_done(self, page: Page) -> None:
        await self._editor.page_done(page)

    async def open_terminal(self, argv: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> Terminal | None:
        return await self._editor.open_terminal(argv, cwd, environ)

    async def unsaved_texts(self) -> Mapping[Path, str]:
        return await self._editor.unsaved_texts()

    async def read_unsaved(self, path: Path) -> str | None:
        return await self._editor.read_unsaved(path)

    async def changes_owned_by_editor(self, changes: Sequence[FileChange]) -> Sequence[FileChange]:
        return await self._editor.changes_owned_by_editor(changes)

    async def apply(self, changes: Sequence[FileChange]) -> Sequence[FileChange]:
        return await self._editor.apply(changes)

    async def learn_of_disk(self, changes: Sequence[FileChange]) -> None:
        await self._editor.learn_of_disk(changes)
