"""Adds up what the next request has, part by part, and says in Markdown where each part comes from. Pure."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from north_lsp.agent.context.documents import size_of
from north_lsp.agent.context.project import ProjectContext
from north_lsp.agent.context.rules import Rules
from north_lsp.agent.context.system_prompt import Section
from north_lsp.agent.costs.estimates import message_tokens, tokens_of
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.messages import Mention, News, PromptEntry
from north_lsp.display import one_line
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import Message, ToolResult, ToolSpec, UserMessage
from north_lsp.providers.model import Model

_MOST_TOOLS = 10
_SUMMARY = "<summary>"
_HINTS = {
    "rules": "give rules globs, so that they are only told with files that match, or disable some (`disabledRules`)",
    "files": "move what is about a folder into that folder's own `AGENTS.md`",
    "profile": "shorten the file of the project's profile: it is yours to edit",
    "memory": "include less of the memory (`memories.summaryInjectionTokenLimit`)",
    "tools": "ask mode has fewer tools; `tools.discoveryThreshold` lists rare ones by name only",
    "attachments": "attach the lines that matter (`@file:10-40`), not whole files",
    "results": "begin a new conversation for another task",
}


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the next request; `bytes` as it is sent in UTF-8, `tokens` estimated."""

    id: str
    title: str
    source: str
    bytes: int
    tokens: int
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """A rule or a context file: `state` is active or says that it is not used, and `why`."""

    kind: str
    name: str
    source: str
    path: str
    bucket: str
    bytes: int
    state: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """`window` is the model's, None if it is unknown; `note` says why there is nothing of the project, `secrets` what
    is masked."""

    parts: Sequence[Part]
    items: Sequence[Item]
    problems: Sequence[str]
    window: int | None
    note: str = ""
    secrets: str = ""

    @property
    def tokens(self) -> int:
        return sum(part.tokens for part in self.parts)

    @property
    def bytes(self) -> int:
        return sum(part.bytes for part in self.parts)

    @property
    def markdown(self) -> str:
        """The report for people."""
        return _in_markdown(self)

    @property
    def items_markdown(self) -> str:
        """The rules and context files for people, with what is wrong with them."""
        return _items_in_markdown(self)


def context_parts(
    sections: Sequence[Section],
    specs: Sequence[ToolSpec],
    messages: Sequence[Message],
    entries: Iterable[Logged],
    servers: Mapping[str, str],
    model: Model,
) -> list[Part]:
    """Measure the parts of a request to a model; `entries` are those that its messages were made of, `servers` says of
    tools which server has them."""
    rows = _tools(specs, servers)
    rows += [_part(one.id, one.title, one.source, one.text) for one in sections]
    by_role: dict[str, list[Message]] = defaultdict(list)
    by_tool: dict[str, list[Message]] = defaultdict(list)
    for one in messages:
        match one:
            case ToolResult(tool=tool):
                by_tool[tool].append(one)
            case UserMessage(text) if text.startswith(_SUMMARY):
                by_role["summary"].append(one)
            case UserMessage():
                by_role["user"].append(one)
            case _:
                by_role["assistant"].append(one)
    titles = {"summary": "Summary of the older part", "user": "Prompts", "assistant": "Answers"}
    of_role = {role: _messages(role, titles[role], by_role[role], model) for role in titles if by_role[role]}
    rows += _told_apart(of_role, entries) if "user" in of_role else of_role.values()
    largest = sorted(by_tool.items(), key=lambda row: -message_tokens(row[1], model))
    for tool, found in largest[:_MOST_TOOLS]:
        rows.append(_messages("results", f"Results of {tool} ({len(found)})", found, model))
    if rest := [one for _, found in largest[_MOST_TOOLS:] for one in found]:
        rows.append(_messages("results", f"Results of other tools ({len(rest)})", rest, model))
    return rows


def _tools(specs: Sequence[ToolSpec], servers: Mapping[str, str]) -> list[Part]:
    """Measure North's tools, and those of each server."""
    by_server: dict[str, list[ToolSpec]] = {"": []}
    for one in specs:
        by_server.setdefault(servers.get(one.name, ""), []).append(one)
    rows = []
    for name, found in by_server.items():
        text = "".join(f"{one.name}{one.description}{json.dumps(dict(one.schema))}" for one in found)
        title = f"Tools of {name} ({len(found)})" if name else f"Tools ({len(found)})"
        rows.append(_part("tools", title, "MCP server" if name else "North", text))
    return rows


def _told_apart(parts: Mapping[str, Part], entries: Iterable[Logged]) -> Iterator[Part]:
    """Tell what was attached to prompts, and what North has told with them, apart from their words."""
    attached, told = 0, 0
    for one in entries:
        if isinstance(one.entry, PromptEntry) and not one.entry.excluded:
            attached += sum(size_of(part.preview) for part in one.entry.parts if isinstance(part, Mention))
            told += sum(size_of(part.text) for part in one.entry.parts if isinstance(part, News))
    more = [("attachments", "Attachments", attached), ("told", "Rules and news told with prompts", told)]
    rows = [_part(id, title, "the conversation", "x" * size) for id, title, size in more if size]
    for role, part in parts.items():
        if role != "user":
            yield part
            continue
        bytes, tokens = sum(one.bytes for one in rows), sum(one.tokens for one in rows)
        yield replace(part, bytes=max(part.bytes - bytes, 0), tokens=max(part.tokens - tokens, 0))
        yield from rows


def context_items(project: ProjectContext) -> list[Item]:
    """List all rules and context files that were found, those that are not used, too."""
    kind = Rules()
    rules = [
        Item(
            "rule", one.name, kind.via(one), one.shown, " and ".join(one.buckets), size_of(one.body),
            *_state(one.why),
        )
        for one in project.rules
    ]  # fmt: skip
    files = [
        Item("file", one.path.name, one.level, one.shown, "always", size_of(one.body), *_state(one.why))
        for one in project.files
    ]
    return [*files, *rules]


def _in_markdown(report: Report) -> str:
    total = report.tokens
    of = f" of {report.window:,}" if report.window else ""
    rows = [
        f"The next request has about **{total:,}{of} tokens** ({_kilobytes(report.bytes)}), as far as they can be "
        "estimated:",
        "",
        "| tokens | share | part | size | from |",  # what counts is in view in a narrow window, too
        "|--:|--:|---|--:|---|",
    ]
    for part in report.parts:
        share = f"{100 * part.tokens / total:.0f} %" if total else "–"
        size = _kilobytes(part.bytes)
        rows.append(f"| {part.tokens:,} | {share} | {_cell(part.title)} | {size} | {_cell(part.source)} |")
    if report.window:
        free = max(report.window - total, 0)
        rows.append(f"| {free:,} | | Free | | |")
    rows += ["", report.items_markdown]
    rows += ["", "**Secrets**", "", report.secrets] if report.secrets else []
    hints = dict.fromkeys(part.hint for part in report.parts if part.hint and part.tokens * 5 > total)
    rows += ["", "**To make it smaller**", "", *(f"- {hint}" for hint in hints)] if hints else []
    return "\n".join(rows)


def _items_in_markdown(report: Report) -> str:
    rows = [] if report.items else ["There are no rules and no context files (`AGENTS.md`) here."]
    if report.items:
        rows += ["| rule or file | state | when | from | name | size |", "|---|---|---|---|---|--:|"]
    for one in report.items:
        state = f"{one.state}: {one.why}" if one.why else one.state
        cells = (one.path, state, one.bucket, one.source, one.name, _kilobytes(one.bytes))
        rows.append(f"| {' | '.join(map(_cell, cells))} |")
    if report.note:
        rows += ["", _cell(report.note)]
    if report.problems:
        rows += ["", "**Problems**", "", *(f"- {_cell(problem)}" for problem in report.problems)]
    return "\n".join(rows)


def _state(why: str) -> tuple[str, str]:
    if not why:
        return "active", ""
    shadows = why.startswith("shadowed by ")
    return ("shadowed", why.removeprefix("shadowed ")) if shadows else ("not used", why)


def _part(id: str, title: str, source: str, text: str) -> Part:
    return Part(id, title, source, size_of(text), tokens_of(len(text)), _HINTS.get(id, ""))


def _messages(id: str, title: str, messages: Iterable[Message], model: Model) -> Part:
    found = list(messages)
    tokens = message_tokens(found, model)
    return Part(id, title, "the conversation", sum(map(_bytes, found)), tokens, _HINTS.get(id, ""))


def _bytes(message: Message) -> int:
    if isinstance(message, UserMessage | ToolResult):
        return size_of(message.text)
    return size_of(message.text) + sum(size_of(json.dumps(dict(call.arguments))) for call in message.calls)


def _kilobytes(bytes: int) -> str:
    return f"{bytes:,} bytes" if bytes < 1024 else f"{bytes / 1024:.1f} KB"


def _cell(text: str) -> str:
    return one_line(text, 400).replace("|", "\\|").replace("<", "&lt;")
