"""`north-lsp conversations`: the stored conversations on the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import anyio

from north_lsp.agent.log.entries import logged
from north_lsp.agent.log.export import as_markdown
from north_lsp.agent.session.library.conversations import Conversations
from north_lsp.agent.session.library.library import Library, NoConversation, Scope, SeveralConversations
from north_lsp.agent.session.library.trash import Trash
from north_lsp.cli.talking import agrees, complain
from north_lsp.display import ago, counted, money, one_line, visible
from north_lsp.lazy_dataclass import dataclass
from north_lsp.server.options import Options, UsageError
from north_lsp.storage.errors import ConversationBusy, UnknownConversation
from north_lsp.storage.listing import delete_conversation
from north_lsp.storage.locations import Locations
from north_lsp.storage.log_state import read_state
from north_lsp.storage.summaries import Summary
from north_lsp.workspace.project_root import find_root

_FAILED = 1
_USAGE = (
    "list, search WORDS, show ID, export ID [FILE], rename ID TITLE, archive ID, unarchive ID, delete ID, "
    "trash [WORDS], restore ID, fork ID"
)


@dataclass(frozen=True, slots=True)
class Wishes:
    """The options of the command line."""

    everywhere: bool = False
    archived: bool = False
    limit: int | None = None
    agreed: bool = False
    as_json: bool = False


def conversations(
    options: Options,
    words: Sequence[str],
    wishes: Wishes,
    ask: Callable[[str], str],
    show: Callable[[str], None],
) -> int:
    """Run one action and return the exit code. Raises UsageError for what makes no sense."""
    if wishes.limit is not None and wishes.limit < 1:
        raise UsageError("--limit: must be 1 or more")
    locations = Locations.from_environment(options.environ)
    started = (options.path or Path.cwd()).absolute()
    try:
        match [*words]:
            case [] | ["list"]:
                _list(locations, started, "", wishes, show)
            case ["search", *query] if query:
                _list(locations, started, " ".join(query), wishes, show)
            case ["show", target]:
                show(_shown(locations, _find(locations, target, started)).rstrip())
            case ["rename", target, *title] if title:
                found = _find(locations, target, started)
                name = anyio.run(Library(locations).rename, found.id, " ".join(title))
                show(f"{found.id} is called {visible(name)!r} now.")
            case [("archive" | "unarchive") as action, target]:
                found = _find(locations, target, started)
                anyio.run(Library(locations).archive, found.id, action == "archive")
                show(f"{found.id} {'is archived' if action == 'archive' else 'is in the lists again'}.")
            case ["delete", target]:
                return _delete(locations, _find(locations, target, started), wishes, ask, show)
            case ["fork", target]:
                found, root = _find(locations, target, started), find_root(started)
                copied = anyio.run(Conversations(locations).fork, found.id, root)
                show(f"{copied.id} is a copy of {found.id} about {visible(str(root))}.")
            case ["trash", *query]:
                _list_trash(locations, started, " ".join(query), wishes, show)
            case ["restore", target]:
                restored = anyio.run(Trash(locations).restore, target)
                where = " It is archived." if restored.summary.archived else ""
                show(f"{restored.id} ({_named(restored.summary)}) is in the lists again.{where}")
            case _:
                raise UsageError(f"conversations takes one of: {_USAGE}")
    except SeveralConversations as error:
        complain(f"{error}:\n{_table(error.candidates)}")
        return _FAILED
    except (NoConversation, ConversationBusy, UnknownConversation, ValueError, OSError) as error:
        complain(str(error))
        return _FAILED
    return 0


def find_id(options: Options, target: str) -> str | None:
    """Return the id of the conversation whose id begins with `target`; None after saying what is wrong."""
    started = (options.path or Path.cwd()).absolute()
    try:
        return _find(Locations.from_environment(options.environ), target, started).id
    except SeveralConversations as error:
        complain(f"{error}:\n{_table(error.candidates)}")
    except (NoConversation, ValueError, OSError) as error:
        complain(str(error))
    return None


def _list(locations: Locations, started: Path, query: str, wishes: Wishes, show: Callable[[str], None]) -> None:
    folder = None if wishes.everywhere else find_root(started)
    limit = wishes.limit or (50 if query else sys.maxsize)
    scope = Scope(folder, "shown" if wishes.archived else "hidden", limit)
    library = Library(locations)
    results = anyio.run(library.search, query, scope)
    if folder is not None and folder != started.resolve():  # begun in a folder inside of the project
        more = anyio.run(library.search, query, Scope(started, scope.archived, limit))
        known = {hit.summary.id for hit in results.found}
        found = [*results.found, *(hit for hit in more.found if hit.summary.id not in known)]
    else:
        found = [*results.found]
    if not query:
        found.sort(key=lambda hit: hit.summary.updated_at, reverse=True)
    snippets = {hit.summary.id: hit.snippet for hit in found} if query else {}
    rows = [hit.summary for hit in found][:limit]
    if wishes.as_json:
        show(json.dumps([_to_json(one, snippets.get(one.id)) for one in rows], indent=2, ensure_ascii=False))
    elif not rows:
        where = "" if folder is None else f" about {visible(str(started))}"
        show(f"No conversation{where} has {visible(query)!r} in it." if query else f"No conversations{where} yet.")
    else:
        show(_table(rows, snippets))
    if results.truncated:
        complain("not all of them could be searched in time: there may be more")


def _list_trash(locations: Locations, started: Path, query: str, wishes: Wishes, show: Callable[[str], None]) -> None:
    folder = None if wishes.everywhere else find_root(started)
    rows = anyio.run(Trash(locations).listed, query, folder, wishes.limit)
    if wishes.as_json:
        found = [_to_json(one.summary, None) | {"deleted_at": one.deleted_at} for one in rows]
        show(json.dumps(found, indent=2, ensure_ascii=False))
    elif not rows:
        show(f"Nothing in the trash{'' if folder is None else f' is about {visible(str(started))}'}.")
    else:
        now = datetime.now(UTC)
        lines = [f"{one.id}  deleted {ago(one.deleted_at, now):<16}  {_named(one.summary)}" for one in rows]
        show("\n".join(lines))


def _table(rows: Sequence[Summary], snippets: dict[str, str] | None = None) -> str:
    now = datetime.now(UTC)
    cells = [
        (
            *(one.id, ago(one.updated_at, now), counted(one.message_count, "message"), money(one.cost_usd)),
            *(visible(one.model_name), _named(one)),
        )
        for one in rows
    ]
    widths = [max(len(row[column]) for row in cells) for column in range(5)]
    lines = []
    for row in cells:
        id, when, count, cost, model, name = row
        line = f"{id:<{widths[0]}}  {when:<{widths[1]}}  {count:>{widths[2]}}  {cost:>{widths[3]}}  "
        line += f"{model:<{widths[4]}}  {name}"
        snippet = (snippets or {}).get(id)
        lines += [line, *([f"{'':<{widths[0]}}  {one_line(snippet, 160)}"] if snippet else [])]
    return "\n".join(lines)


def _named(one: Summary) -> str:
    return one_line(one.title or one.first_prompt or one.id, 60) + (" (archived)" if one.archived else "")


def _to_json(one: Summary, snippet: str | None) -> dict[str, object]:
    row = {name: str(value) if isinstance(value, Path) else value for name, value in asdict(one).items()}
    return row | ({"snippet": snippet} if snippet is not None else {})


def _find(locations: Locations, target: str, started: Path) -> Summary:
    return anyio.run(Library(locations).find, target, find_root(started))


def _shown(locations: Locations, one: Summary) -> str:
    state = read_state((locations.conversations / f"{one.id}.jsonl").read_bytes())
    return visible(as_markdown(_named(one), logged(state.active_path())))


def _delete(
    locations: Locations, one: Summary, wishes: Wishes, ask: Callable[[str], str], show: Callable[[str], None]
) -> int:
    if not wishes.agreed and not agrees(ask, f"Delete {one.id} ({_named(one)})?"):
        show("Nothing was deleted.")
        return _FAILED
    delete_conversation(locations, one.id)
    show(f"{one.id} is in the trash for 30 days: north-lsp conversations restore {one.id} puts it back.")
    return 0
