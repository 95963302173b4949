"""Has a model read what was said in conversations, and merge what lasts of it into a project's memory."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from north_lsp.agent.compaction.serialize import cut_in_the_middle, rows_of
from north_lsp.agent.learning.explorer import CannotLearn, NotLearned
from north_lsp.agent.log.entries import logged
from north_lsp.agent.prompts import render
from north_lsp.display import one_line
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.providers.base import Done, Failed
from north_lsp.storage.log_state import read_state
from north_lsp.storage.memory_files import MEMORY, NOTES, SUMMARY
from north_lsp.storage.memory_jobs import Thread

Ask = Callable[[str, str, int], Awaitable[Done | Failed]]
"""Asks a model: the system text, the prompt, and how many tokens the answer may have."""

_EXTRACTED_TOKENS, _MERGED_TOKENS = 2_000, 8_000
_PART = lazy_pattern(r"<(memory|synopsis|summary)>\n?(.*?)</\1>", re.DOTALL)
_SKILL = lazy_pattern(r"<skill\s+([^>]*)>\n?(.*?)</skill>", re.DOTALL)
_ATTRIBUTE = lazy_pattern(r'(name|description)="([^"]*)"')
_NAME = lazy_pattern(r"[a-z0-9][a-z0-9-]{0,39}")
_FRAME = lazy_pattern(r"<(?=/?\s*(?:conversation|notes|memory|summary|skill)\b)", re.IGNORECASE)
_FOR_ALL = ("auth", "quota_exhausted")
_MOST_SKILLS = 10


def conversation_text(log: Path) -> str:
    """Return what was said and done in a conversation, from its log. Raises OSError."""
    return "\n\n".join(rows_of(logged(read_state(log.read_bytes()).active_path())))


async def extract(ask: Ask, text: str, characters: int) -> tuple[str, str]:
    """Return what lasts of a conversation (empty if nothing does), and what it was about. Raises NotLearned."""
    told = f"<conversation>\n{_plain(cut_in_the_middle(text, characters))}\n</conversation>"
    said = _said(await ask(render("memory_extract"), told, _EXTRACTED_TOKENS))
    parts = {name: inside.strip() for name, inside in _PART.findall(said)}
    if "memory" not in parts:
        raise NotLearned("the model's answer was not of the form that was asked for")
    return parts["memory"], one_line(parts.get("synopsis", ""), 500)


async def merge(
    ask: Ask, present: Mapping[str, str], threads: Sequence[Thread], summary_tokens: int, characters: int
) -> dict[str, str]:
    """Return the memory's files, by name. The oldest conversations are left out where there is no room. Raises
    NotLearned."""
    head = [
        f"<notes>\n{_plain(cut_in_the_middle(present.get(NOTES, ''), characters // 4))}\n</notes>",
        f"<memory>\n{_plain(cut_in_the_middle(present.get(MEMORY, ''), characters // 3))}\n</memory>",
    ]
    left, rows = characters - sum(map(len, head)), list[str]()
    for thread in reversed([one for one in threads if one.memory]):
        row = f"<conversation about={one_line(thread.synopsis, 200)!r}>\n{_plain(thread.memory)}\n</conversation>"
        left -= len(row)
        if left < 0 and rows:
            break
        rows.insert(0, row)
    system = render("memory_merge", words=str(max(summary_tokens // 2, 50)))
    said = _said(await ask(system, "\n\n".join([*head, *rows]), _MERGED_TOKENS))
    parts = {name: inside.strip() for name, inside in _PART.findall(said)}
    if not parts.get("memory") or "summary" not in parts:
        raise NotLearned("the model's answer was not of the form that was asked for")
    files = {MEMORY: f"{parts['memory']}\n", SUMMARY: f"{parts['summary']}\n"}
    return files | dict(_skills(said))


def _skills(said: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    attributes: str
    text: str
    for attributes, text in _SKILL.findall(said):
        named: dict[str, str] = dict(_ATTRIBUTE.findall(attributes))
        name = named.get("name", "")
        if _NAME.fullmatch(name) and text.strip():
            described = one_line(named.get("description", name), 200).replace('"', "'")
            head = f'---\nname: {name}\ndescription: "{described}"\n---\n'
            found.append((f"skills/{name}/SKILL.md", f"{head}\n{text.strip()}\n"))
    return found[:_MOST_SKILLS]


def _said(end: Done | Failed) -> str:
    if isinstance(end, Done):
        return end.message.text
    raise CannotLearn(end.message) if end.kind in _FOR_ALL else NotLearned(end.message)


def _plain(text: str) -> str:
    return _FRAME.sub("&lt;", text)
