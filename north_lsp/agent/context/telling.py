"""What a model is told once in a conversation, when it becomes of interest: rules for the files that it works on, the
files of the folders around them, what the editor shows. What was told before is found in the log. Pure but for reading
those files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from north_lsp.agent.context.documents import framed, size_of
from north_lsp.agent.context.project import ProjectContext
from north_lsp.agent.context.rules import Rule
from north_lsp.agent.log.context import shortens, unpruned_context_of
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.messages import Mention, News, PromptEntry, PromptPart
from north_lsp.agent.log.results import ResultEntry
from north_lsp.display import one_line
from north_lsp.errors import ToolError

MAX_BYTES = 8 * 1024
"""How much of rules and files is told at once."""
_SEARCHES = frozenset({"search_text", "ast_search", "find_files", "lsp", "hotfiles", "list_root"})


def told_before(path: Sequence[Logged]) -> Mapping[str, str]:
    """Return what a model knows of what is told once: the last text of each. What a summary has replaced it does not
    know any more."""
    told: dict[str, str] = {}
    for one in unpruned_context_of(path):
        if isinstance(one.entry, PromptEntry) and not one.entry.excluded:
            told |= {part.about: part.text for part in one.entry.parts if isinstance(part, News) and part.about}
    return told


def bears_news(one: Logged) -> bool:
    """Tell whether an entry has news for the model, or may have replaced an entry that had."""
    return shortens(one) or (
        isinstance(one.entry, PromptEntry) and any(isinstance(part, News) for part in one.entry.parts)
    )


def touched_files(path: Iterable[Logged]) -> list[Path]:
    """Return the files that calls read or changed by name, the first ones first; hits of searches do not count."""
    found: dict[Path, None] = {}
    for one in path:
        match one.entry:
            case ResultEntry(tool=tool, is_error=False, details=details) if tool not in _SEARCHES:
                found |= dict.fromkeys(place.path for place in details.locations)
            case _:
                pass
    return list(found)


def attached_files(parts: Sequence[PromptPart]) -> list[Path]:
    """Return the files that a prompt has attached."""
    mentions = (part for part in parts if isinstance(part, Mention) and part.seen is not None)
    return list(dict.fromkeys(path for part in mentions for path, _ in part.seen or ()))


def rules_for(paths: Sequence[Path], project: ProjectContext, told: Mapping[str, str]) -> list[News]:
    """Make what must be told about files: their rules, and the context files of the folders around them, each once.
    What does not fit is named, to be read."""
    found: dict[str, tuple[str, str]] = {}
    for path in paths:
        for rule in project.matching(path):
            found.setdefault(rule.key, (framed_rule(rule), _address(rule, project)))
        for one in project.files_for(path):
            found.setdefault(one.key, (framed(one.level, one.body, path=one.shown), one.shown))
    news: list[News] = []
    left = MAX_BYTES
    for key, (text, name) in found.items():
        if told.get(key) is not None:
            continue
        fits = size_of(text) <= left
        shown = text if fits else f"[There are instructions for these files that did not fit: read {name}]"
        left -= size_of(shown)
        news.append(News(context_block(shown), key))
    return news


def _address(rule: Rule, project: ProjectContext) -> str:
    """Return how a rule is read: one of a folder further in, by its file."""
    return f"rule://{rule.name}" if project.find_rule(rule.name) is rule else rule.shown


def rule_text(project: ProjectContext, name: str) -> str:
    """Return a rule's text by its name. Raises ToolError NOT_FOUND naming the rules that there are."""
    rule = project.find_rule(name)
    if rule is None:
        known = ", ".join(one.name for one in project.rules if one.applies)
        raise ToolError("NOT_FOUND", f"there is no rule {one_line(name)!r}", f"rules: {known or 'none'}")
    return framed_rule(rule)


def framed_rule(rule: Rule) -> str:
    return framed(rule.level, rule.body, rule=rule.name, path=rule.shown)


def context_block(text: str) -> str:
    return f"<context>\n{text}\n</context>"
