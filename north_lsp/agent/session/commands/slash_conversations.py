"""The slash commands about conversations, as far as they need a session; output in Markdown.

A server cannot put another conversation before the user: it asks the client to (`ConversationWanted`), and says what to
do in one that does not know this request.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.events import CloseWanted, ConversationCopied, ConversationWanted
from north_lsp.agent.session.library.conversations import Conversations
from north_lsp.agent.session.library.library import CANDIDATES, Library, NoConversation, Scope, SeveralConversations
from north_lsp.agent.session.library.trash import Trash
from north_lsp.display import ago, counted, money, one_line
from north_lsp.slash.base import CommandError
from north_lsp.storage.conversation import ConversationBusy
from north_lsp.storage.errors import UnknownConversation
from north_lsp.storage.summaries import Summary
from north_lsp.storage.trash import NotRestored
from north_lsp.workspace.project_root import project_hash

if TYPE_CHECKING:
    from north_lsp.agent.session.live import LiveSession
    from north_lsp.agent.session.process.environment import Environment


_MOST = 50


class ConversationsHost:
    """The part of a slash command's `Host` that is about conversations. Every method may raise CommandError."""

    def __init__(self, session: LiveSession, editor: Editor, environment: Environment) -> None:
        self._live = session
        self._shown_in = editor
        self._shared = environment

    @property
    def _library(self) -> Library:
        return Library(self._shared.locations)

    async def conversations(self, query: str, *, everywhere: bool) -> str:
        """List the conversations of the project or of all, or those that have the words of a query."""
        results = await self._library.search(query, Scope(None if everywhere else self._live.roots[0]))
        if not results.found:
            return (
                f"No conversation here has {one_line(query)!r} in it." if query.strip() else "There are none here yet."
            )
        shown = [(hit.summary, hit.snippet if query.strip() and hit.place != "title" else "") for hit in results.found]
        rows = [self._row(summary, snippet) for summary, snippet in shown]
        cut = ["", "Not all of them could be searched in time: there may be more."] if results.truncated else []
        return "\n".join([*rows, *cut, "", "`/resume <id>` continues one."])

    async def resume(self, target: str) -> str:
        """Have the client open another conversation: the one whose id begins so, or one that the user chooses among
        those with these words."""
        here = self._live.roots[0]
        found = await self._found(target)
        if found is None:
            return "This conversation stays open."
        if found.id == self._live.id:
            return "This is that conversation."
        if is_elsewhere(found, here):
            match await self._where(found, here):
                case "fork":
                    return await self._forked(found, here)
                case "own":
                    pass
                case _:
                    return "This conversation stays open."
        await self._shown_in.show(ConversationWanted(found.id, str(found.cwd), found.name))
        place = (
            "" if found.cwd == here else f" It is about another folder, {one_line(str(found.cwd), 300)}: open that one."
        )
        return (
            f"**{one_line(found.name)}** (`{found.id}`) opens if your editor can. If it does not, choose it in the "
            f"list of conversations there.{place}"
        )

    async def _found(self, target: str) -> Summary | None:
        """Return the conversation whose id begins so, or one that the user chooses: among those with these words, or
        all others here. Raises CommandError."""
        here = self._live.roots[0]
        try:
            if target:
                return await self._library.find(target, here)
            rows = await self._library.listed(Scope(here))
            none = "there is no other conversation here"
        except SeveralConversations as error:
            return await self._chosen(one_line(f"{error}. Which one?", 200), error.candidates)
        except NoConversation as error:
            rows = [hit.summary for hit in (await self._library.search(target, Scope(here))).found]
            none = f"{one_line(str(error), 300)}, and none here has that in it"
        others = [one for one in rows if one.id != self._live.id]
        if not others:
            raise CommandError(none)
        return await self._chosen("Which conversation?", others)

    async def _where(self, found: Summary, here: Path) -> str | None:
        """Ask where a conversation of another project continues."""
        folder = one_line(str(found.cwd), 300)
        question = f"{one_line(found.name)} is about another folder, {folder}. Where should it continue?"
        fork = ("fork", f"Copy it into this project, {one_line(str(here), 300)}")
        options = (fork, ("own", "Open it with its own folder"), ("none", "Leave it"))
        return await self._live.questions.choose(question, options)

    async def _forked(self, found: Summary, here: Path) -> str:
        try:
            copied = await Conversations(self._shared.locations).fork(found.id, here)
        except (ValueError, UnknownConversation) as error:
            raise CommandError(one_line(str(error), 300)) from None
        except OSError as error:
            raise CommandError(f"the copy could not be written: {error.strerror or error}") from None
        await self._shown_in.show(ConversationCopied(copied.id, "fork"))
        return (
            f"A copy of **{one_line(found.name)}** for this project is stored as `{copied.id}`; it opens if your "
            "editor can. If it does not, choose it in the list of conversations there."
        )

    async def continue_last(self) -> str:
        """Have the client open the last conversation of its window, else the newest one here, in place of a new one in
        which nothing was said."""
        if self._live.navigation.prompts():
            told = "there is nothing to continue: no answer broke off. Say what to do next instead"
            raise CommandError(f"{told}, or `/resume` another conversation.")
        here = self._live.roots[0]
        found = await self._library.last(self._live.window, here)
        if found is None:
            raise CommandError("there is nothing to continue: there is no other conversation here yet")
        await self._shown_in.show(ConversationWanted(found.id, str(found.cwd), found.name))
        return (
            f"**{one_line(found.name)}** (`{found.id}`) was the last one here; it opens if your editor can. If it does "
            "not, choose it in the list of conversations there."
        )

    async def quit(self) -> str:
        await self._shown_in.show(CloseWanted())
        return "This conversation closes if your editor can. If it does not, close it there: it stays stored."

    async def begin_anew(self) -> str:
        await self._shown_in.show(ConversationWanted(None, str(self._live.roots[0]), ""))
        return "A new conversation opens if your editor can. If it does not, begin one there: this one is kept."

    async def rename(self, title: str) -> str:
        try:
            return one_line(await self._live.saved.rename(title))
        except ValueError as error:
            raise CommandError(str(error)) from None

    async def archive(self, id: str | None, *, archived: bool) -> str:
        name = "This conversation"
        try:
            if id is not None:
                found = await self._library.find(id, self._live.roots[0])
                id, name = found.id, f"**{one_line(found.name)}**"
            if id is None or id == self._live.id:
                await self._live.saved.archive(archived)
            else:
                await self._library.archive(id, archived)
        except SeveralConversations as error:
            rows = "\n".join(self._row(one) for one in error.candidates)
            raise CommandError(f"{one_line(str(error), 200)}:\n\n{rows}") from None
        except (NoConversation, ConversationBusy, UnknownConversation, ValueError) as error:
            raise CommandError(one_line(str(error), 300)) from None
        except OSError as error:
            raise CommandError(f"the conversation could not be archived: {error.strerror or error}") from None
        if not archived:
            return f"{name} is in the lists again."
        return f"{name} is archived: lists and searches leave it out. `/archive undo` brings it back."

    async def delete_conversation(self, target: str) -> str:
        """Move another conversation to the trash, after asking; not one that is open, in which a turn may run."""
        found = await self._found(target)
        if found is None:
            return "Nothing was deleted."
        if found.id == self._live.id:
            told = "this conversation is open: delete it in the list of your editor, or close it and delete it from"
            raise CommandError(f"{told} another one")
        stored = Conversations(self._shared.locations)
        name = f"**{one_line(found.name)}** (`{found.id}`)"
        busy = (
            f"{name} is open in another chat or editor: close it there first, or delete it in the list of your editor"
        )
        if await stored.is_open(found.id):
            raise CommandError(busy)
        answers = (("delete", "Delete it"), ("keep", "Keep it"))
        question = f"Move {one_line(found.name)} ({found.id}) to the trash, for 30 days?"
        if await self._live.questions.choose(question, answers) != "delete":
            return "Nothing was deleted."
        try:
            await stored.delete_idle(found.id)
        except ConversationBusy:
            raise CommandError(busy) from None
        except OSError as error:
            raise CommandError(f"the conversation could not be deleted: {error.strerror or error}") from None
        return f"{name} is in the trash for 30 days: `/restore {found.id}` puts it back."

    async def trash(self, query: str) -> str:
        """List the deleted conversations of the project, or those with the words of a query."""
        rows = await Trash(self._shared.locations).listed(query, self._live.roots[0], _MOST)
        if not rows:
            return "Nothing about this project is in the trash."
        now = datetime.now(UTC)
        lines = [
            f"- `{one.id}` **{one_line(one.summary.name)}**, deleted {ago(one.deleted_at, now)}, "
            f"{counted(one.summary.message_count, 'message')}"
            for one in rows
        ]
        return "\n".join([*lines, "", "`/restore <id>` puts one back. What is deleted stays here for 30 days."])

    async def restore_conversation(self, target: str) -> str:
        """Put a deleted conversation back: the one whose id begins so, or one that the user chooses among those with
        these words."""
        trash = Trash(self._shared.locations)
        try:
            try:
                restored = await trash.restore(target)
            except (NoConversation, SeveralConversations) as error:
                found = [one.summary for one in await trash.listed(target, self._live.roots[0], CANDIDATES)]
                rows = error.candidates if isinstance(error, SeveralConversations) else found
                if not rows:
                    raise CommandError(f"{one_line(str(error), 300)}, and none there has that in it") from None
                chosen = await self._chosen("Which conversation is to be restored?", rows)
                if chosen is None:
                    return "Nothing was restored."
                restored = await trash.restore(chosen.id)
        except (UnknownConversation, NoConversation):
            raise CommandError("it is not in the trash any more") from None
        except (NotRestored, ConversationBusy) as error:
            raise CommandError(one_line(str(error), 300)) from None
        except OSError as error:
            raise CommandError(f"the conversation could not be restored: {error.strerror or error}") from None
        hidden = " It is archived: `/archive undo` brings it back into the lists." if restored.summary.archived else ""
        name = one_line(restored.summary.name)
        return f"**{name}** (`{restored.id}`) is in the lists again; `/resume {restored.id}` opens it.{hidden}"

    async def _chosen(self, question: str, rows: Sequence[Summary]) -> Summary | None:
        now = datetime.now(UTC)
        options = [(one.id, f"{one_line(one.name)} ({ago(one.updated_at, now)})") for one in rows]
        chosen = await self._live.questions.choose(question, (*options, ("none", "None of them")))
        return next((one for one in rows if one.id == chosen), None)

    def _row(self, one: Summary, snippet: str = "") -> str:
        facts = [ago(one.updated_at, datetime.now(UTC)), counted(one.message_count, "message")]
        facts += [one_line(one.model_name)] if one.model_name else []
        facts += [money(one.cost_usd)] if one.cost_usd else []
        facts += [one_line(str(one.cwd), 300)] if one.cwd != self._live.roots[0] else []
        facts += ["this one"] if one.id == self._live.id else []
        shown = f"\n  {one_line(snippet, 160)}" if snippet else ""
        return f"- `{one.id}` **{one_line(one.name)}**, {', '.join(facts)}{shown}"


def is_elsewhere(one: Summary, here: Path) -> bool:
    """Tell whether a conversation is about another project, whose folder is there."""
    return one.repo_hash != project_hash(here) and one.cwd != here and one.cwd.is_dir()
