"""Permission requests in protocol version 1: the core's questions become params, and the answers become decisions.
Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from north_lsp.acp.edit_title import describe_edit
from north_lsp.acp.initialize import Client
from north_lsp.acp.plain import without_extension
from north_lsp.acp.v1 import changed_places, content, diffs, fenced
from north_lsp.agent.edits.unsaved import unsaved_for_model
from north_lsp.agent.ports.editor import Choice, CommandDecision, CommandReview, EditDecision, EditReview
from north_lsp.display import one_line, visible
from north_lsp.vocabulary import INCOMPLETE
from north_lsp.workspace.proposal import FileChange
from north_lsp.workspace.text import to_newlines

EDIT_OPTIONS = (
    ("accept", "Accept", "allow_once"),
    ("always", "Accept this and all later edits in this project", "allow_always"),
    ("reject", "Reject", "reject_once"),
)
COMMAND_OPTIONS = (
    ("run", "Run", "allow_once"),
    ("terminal", "Run in the terminal", "allow_once"),
    ("always", "Always run this command", "allow_always"),
    ("rule", "Always run commands like this", "allow_always"),
    ("all", "Run every command without asking", "allow_always"),
    ("deny", "Deny", "reject_once"),
)
_EDIT_SCOPE = "every edit in this project from now on; protected files still ask"
_COMMAND_SCOPES = {
    "always": "exactly this command, in this project",
    "all": "every command in this project that runs in a sandbox; dangerous ones still ask",
}
# A client with one key for each kind of option picks the last of a kind, which is not the one that its user chose.
_FOR_NORTH = frozenset({"terminal", "rule", "all"})
_MAX_COMMENT = 4000
_MAX_WORDS = 1000
_TOLD_APART = 3  # options: one of each kind


def _options(
    rows: Sequence[tuple[str, str, str]], client: Client, scopes: Mapping[str, str], *, may_remember: bool
) -> list[dict[str, Any]]:
    options: list[dict[str, Any]] = []
    for id, name, kind in rows:
        if (kind == "allow_always" and not may_remember) or (id in _FOR_NORTH and not client.knows_north):
            continue
        scope = {"_meta": {"north": {"scope": scopes[id]}}} if client.knows_north and id in scopes else {}
        options.append({"optionId": id, "name": name, "kind": kind, **scope})
    return options


def _asking(kind: str, text: str, **more: object) -> dict[str, Any]:
    """Describe a question for clients that display questions in their own way."""
    return {"question": {"kind": kind, "text": visible(one_line(text, _MAX_WORDS)), **more}}


def edit_permission(session_id: str, review: EditReview, client: Client) -> dict[str, Any]:
    """Return the params of `session/request_permission` for a proposal: its diffs, the reasons why it asks, and its
    hunks for a client that decides on each hunk."""
    files = review.proposal.files
    words = describe_edit(files)
    if review.asker:
        words = f"{visible(one_line(review.asker, _MAX_WORDS))}: {words}"
    # A client that does not know North may show the title alone, so that has the file's whole path.
    is_named = client.knows_north and len(files) == 1 and files[0].action in ("create", "update")
    part = INCOMPLETE if INCOMPLETE in review.title else ""
    tool_call = {
        "toolCallId": review.proposal.tool_call_id,
        "title": review.title if is_named else f"{words}{part}",
        "kind": _kind(files),
        "status": "pending",
        "content": [*diffs(files), *(content(visible(text)) for text in (*review.warnings, *review.proposal.notices))],
        "locations": changed_places(files),
    }
    options = _options(EDIT_OPTIONS, client, {"always": _EDIT_SCOPE}, may_remember=review.may_remember)
    north = _asking("edit", f"{words}?")
    if client.reviews_hunks:
        north["files"] = [_hunks(change) for change in files]
    return {"sessionId": session_id, "toolCall": tool_call, "options": options, "_meta": {"north": north}}


def choice_permission(session_id: str, choice: Choice, client: Client) -> dict[str, Any]:
    """Return the params of `session/request_permission` for one of North's own questions: one option for each answer;
    the last one refuses."""
    title = visible(choice.question)
    tool_call = {
        "toolCallId": choice.call_id or choice.id,
        "title": title,
        **({} if choice.call_id else {"kind": "other"}),  # a call has one
        "status": "pending",
        "content": [content(f"{title}\n\n{visible(choice.detail)}" if choice.detail else title)],
    }
    *allowing, refusing = choice.options
    is_told_apart = len(allowing) == 2 and not (choice.alike and client.knows_north)
    kinds = ["allow_once", "allow_always"] if is_told_apart else ["allow_once"] * len(allowing)
    scope = {"_meta": {"north": {"scope": visible(choice.scope)}}} if choice.scope and client.knows_north else {}
    options = [
        {"optionId": id, "name": name, "kind": kind} | (scope if kind == "allow_always" else {})
        for (id, name), kind in zip((*allowing, refusing), (*kinds, "reject_once"), strict=True)
    ]
    north = _asking("choice", choice.question)
    return {"sessionId": session_id, "toolCall": tool_call, "options": options, "_meta": {"north": north}}


def for_client(params: dict[str, Any], client: Client) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the params of a permission request as a client gets them, and the options' own ids by those that it gets.
    Some clients know by the names of the kinds alone which ids accept, so for those that do not know North the first
    option of each kind has the kind as its id, unless an option is already called so."""
    own = [str(option["optionId"]) for option in params["options"]]
    ids: list[str] = []
    for id, option in zip(own, params["options"], strict=True):
        keeps = client.knows_north or option["kind"] in (*own, *ids)
        ids.append(id if keeps else option["kind"])
    options = [option | {"optionId": id} for id, option in zip(ids, params["options"], strict=True)]
    shown = params | {"options": options}
    return (shown if client.gets_extension else without_extension(shown)), dict(zip(ids, own, strict=True))


def has_to_be_confirmed(choice: Choice, client: Client, chosen: str | None) -> Choice | None:
    """Return a second question that confirms the chosen option, or None if none is needed. A client with one key for
    each kind of option picks the last of that kind, whichever the user meant, so a choice among several of one kind is
    confirmed."""
    name = dict(choice.options[:-1]).get(chosen or "")
    if client.knows_north or name is None or len(choice.options) <= _TOLD_APART:
        return None
    options = (("yes", f"Yes: {name}"), ("no", "No"))
    return Choice(f"{choice.id}-confirm", f"{choice.question} {name}?", options, call_id=choice.call_id)


def choice_ended(choice: Choice, chosen: str | None) -> dict[str, Any]:
    """Return the update that ends a question which no call of a model asks: it stood for a tool call of its own."""
    name = dict(choice.options).get(chosen or "")
    ended = "completed" if name is not None and chosen != choice.options[-1][0] else "failed"
    title = visible(f"{choice.question} {name}" if name is not None else choice.question)
    return {"sessionUpdate": "tool_call_update", "toolCallId": choice.id, "title": title, "status": ended}


def _kind(files: Sequence[FileChange]) -> str:
    actions = {change.action for change in files}
    return "delete" if actions == {"delete"} else "move" if actions == {"rename"} else "edit"


def _hunks(change: FileChange) -> dict[str, Any]:
    hunks = [
        {
            "id": hunk.id,
            "oldStart": hunk.old_start,
            "oldLines": hunk.old_lines,
            "newStart": hunk.new_start,
            "newLines": hunk.new_lines,
        }
        for hunk in change.hunks
    ]
    row: dict[str, Any] = {"path": str(change.target), "kind": change.action, "hunks": hunks}
    return row | ({"oldPath": str(change.path)} if change.new_path is not None else {})


def edit_decision(answer: dict[str, Any], chosen: str | None, review: EditReview) -> EditDecision:
    """Read the user's decision on a proposal. What North's extension adds to the answer counts only if it names files
    and hunks of this proposal; if it is malformed, the edit is rejected."""
    extra = _extension(answer)
    comment = _comment(extra)
    match chosen:
        case "accept" | "always":
            files = {str(change.target): change for change in review.proposal.files}
            try:
                hunks = _hunk_ids(extra["hunks"], files) if "hunks" in extra else None
                texts = _texts(extra.get("texts", {}), files)
            except ValueError:
                return EditDecision("reject", comment)
            for_session = chosen == "accept" and extra.get("scope") == "session" and review.may_remember
            return EditDecision("session" if for_session else chosen, comment, hunks, texts)
        case "stop":
            return EditDecision("stop", comment)
        case "reject" if extra.get("stop") is True:
            return EditDecision("stop", comment)
        case _:
            return EditDecision("reject", comment)


def _extension(answer: dict[str, Any]) -> dict[str, Any]:
    meta = answer.get("_meta")
    extra = meta.get("north") if isinstance(meta, dict) else None
    return extra if isinstance(extra, dict) else {}


def comment_of(answer: dict[str, Any]) -> str | None:
    """Return what the user said beside an answer."""
    return _comment(_extension(answer))


def _comment(extra: dict[str, Any]) -> str | None:
    comment = extra.get("comment")
    return comment.strip()[:_MAX_COMMENT] or None if isinstance(comment, str) else None


def _hunk_ids(value: object, files: dict[str, FileChange]) -> dict[Path, frozenset[str]]:
    """Read the accepted hunks of each file. Raises ValueError."""
    accepted: dict[Path, frozenset[str]] = {}
    for path, ids in _entries(value, files):
        known = {hunk.id for hunk in files[path].hunks}
        if not isinstance(ids, list) or not all(isinstance(id, str) and id in known for id in ids):
            raise ValueError
        accepted[files[path].target] = frozenset(ids)
    return accepted


def _texts(value: object, files: dict[str, FileChange]) -> dict[Path, str]:
    """Read the user's texts of each file, with the line ends of the proposed text, which a client's editor may have
    changed. Raises ValueError."""
    texts: dict[Path, str] = {}
    for path, text in _entries(value, files):
        change = files[path]
        if not isinstance(text, str) or change.action == "delete" or change.binary:
            raise ValueError
        is_crlf = "\r\n" in change.new_text and "\r\n" not in text
        texts[change.target] = to_newlines(text, "\r\n") if is_crlf else text
    return texts


def _entries(value: object, files: dict[str, FileChange]) -> list[tuple[str, object]]:
    if not isinstance(value, dict) or not value.keys() <= files.keys():
        raise ValueError
    return list(value.items())


def command_decision(answer: dict[str, Any], chosen: str | None) -> CommandDecision:
    """Read the user's decision on a command. North's extension adds a comment and, for "run" and "terminal", the
    command as the user changed it; if that is not a string, the command is denied."""
    extra = _extension(answer)
    comment = _comment(extra)
    match chosen:
        case "run" | "terminal" if "command" in extra:
            edited = extra["command"]
            return (
                CommandDecision(chosen, comment, edited)
                if isinstance(edited, str)
                else CommandDecision("deny", comment)
            )
        case "all" if extra.get("scope") == "session":
            return CommandDecision("session", comment)
        case "run" | "terminal" | "always" | "rule" | "all" | "stop":
            return CommandDecision(chosen, comment)
        case _:
            return CommandDecision("deny", comment)


def command_permission(session_id: str, review: CommandReview, client: Client) -> dict[str, Any]:
    """Return the params of `session/request_permission` for a command. The title has the whole command, since a client
    may show only that."""
    command = visible(review.command.command)
    limit = "in the background" if review.command.background else f"at most {review.command.timeout:g} s"
    details = [f"In {visible(str(review.command.cwd))}, {limit}. It gets no input, pager or editor."]
    if review.command.description:
        details.append(visible(review.command.description))
    if review.asker:
        details.append(f"Asked for by the agent {visible(review.asker)}.")
    if review.held:
        details.append(visible(review.held))
    details += [f"**This command {visible(warning)}.**" for warning in review.warnings]
    if review.unsaved:
        details.append(f"**{visible(unsaved_for_model(review.unsaved, 'The command reads'))}.**")
    details += [f"Your earlier approvals do not cover this: {visible(reason)}." for reason in review.reasons]
    if review.rule and client.knows_north:
        details.append(f'"Always run commands like this" saves this rule: {visible(review.rule)}.')
    terminal = review.may_use_terminal and client.has_terminals
    may_offer = (("always", review.may_remember_text), ("rule", review.rule), ("terminal", terminal))
    left_out = {name for name, offered in may_offer if not offered}
    rows = [row for row in COMMAND_OPTIONS if row[0] not in left_out]
    tool_call = {
        "toolCallId": review.call_id,
        "title": f"Run `{' ⏎ '.join(command.split(chr(10)))}`",
        "kind": "execute",
        "status": "pending",
        "content": [content(fenced(command, "sh")), content("\n\n".join(details))],
        "rawInput": {"command": review.command.command, "cwd": str(review.command.cwd)},
    }
    scopes = _COMMAND_SCOPES | ({"rule": visible(review.rule)} if review.rule else {})
    options = _options(rows, client, scopes, may_remember=review.may_remember)
    unsaved = {"unsaved": [visible(name) for name in review.unsaved]} if review.unsaved else {}
    north = _asking("command", f'Run "{command}"?', **unsaved)
    return {"sessionId": session_id, "toolCall": tool_call, "options": options, "_meta": {"north": north}}
