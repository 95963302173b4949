"""Only `agent/log` (and `storage`, which writes what it gets) spells a key of the conversation's file.

A key of several words is found wherever it is spelled. A single word may mean anything, so for these the ways into the
file are watched: entries and everything else that the log declares take values, not dictionaries; the details of a call
are made there; and nobody else reads or writes what `storage` has.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

import north_lsp
from tests.support.log_keys import Source, Ways, keys_of_the_file, sources_in, spelled_in

_PACKAGE = Path(north_lsp.__file__).parent
_READS = re.compile(
    r"""entry\["|\.get\("(type|role|message|toolCallId)"|conversation\.(append|annotate)\(|header(\.get\(|\[)"""
)
_KINDS = re.compile(
    r"""["'](toolCallId|toolName|toolResult|bashExecution|excludeFromContext|parentId|stopReason|errorMessage|checkpointId"""
    r"""|entry_updated|command_executed|file_mention|tool_call|model_change|mode_change|thinkingLevel|fromQueue)["']"""
)
_ELSEWHERE: Mapping[str, tuple[str, set[str]]] = {
    "agent/compaction/answer.py": ("what a model has answered", {"shortSummary"}),
    "agent/compaction/compactor.py": ("what extensions are told", {"tokensBefore", "firstKeptEntryId"}),
    "agent/compaction/extension_hooks.py": (
        "what extensions are told, and answer",
        {"shortSummary", "preserveData", "fromExtension"},
    ),
    "agent/edits/model_report.py": ("what a model is told", {"linesAdded", "linesRemoved"}),
    "agent/ports/diagnostics.py": ("North's own log", {"jobId", "durationMs"}),
    "agent/session/commands/slash_host.py": ("the file of all costs", {"costUsd"}),
    "agent/session/navigation/tree_events.py": ("what extensions are told", {"targetId", "fromExtension"}),
    "agent/turn/request_usage.py": ("North's own log", {"requestId"}),
}
"""Where words that are keys of the file, too, are keys of something else: of what, and which words."""
_FOREIGN = {
    "AgentCallEntry.arguments": "what a model gave to a call",
    "AnswerEntry.raw_usage": "what a vendor said of the tokens",
    "CompactionEntry.kept": "what extensions want to be kept",
    "CompactionEntry.structured": "a summary by its sections, whose names the log has",
    "ResultDetails.of_tool": "made by the log when the call ended",
    "ResultDetails.truncation": "made by the log when the output was shortened",
    "ToolRequest.arguments": "what a model gave to a call",
}
"""The fields of what the log declares that have dictionaries, and whose these are."""
_OTHER_FORMS = {
    "agent/exports/statistics.py": "an export",
    "command_policy/allowed.py": "the file of approvals",
}


@cache
def _sources() -> list[Source]:
    return [*sources_in(_PACKAGE)]


@cache
def _ways() -> Ways:
    return Ways(_PACKAGE, _FOREIGN)


def test_no_line_is_read_or_named_elsewhere() -> None:
    agent = _PACKAGE / "agent"
    found = [
        f"{path.relative_to(agent)}:{number}: {line.strip()}"
        for path in sorted(agent.rglob("*.py"))
        if path.parent != agent / "log"
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if _READS.search(line) or _KINDS.search(line)
    ]
    assert found == []


def test_no_key_of_several_words_is_spelled_elsewhere() -> None:
    """In `tools`, they are what models are told and give."""
    own = keys_of_the_file(_PACKAGE, Path(__file__).with_name("golden"))
    assert {"toolCallId", "exitCode", "onlyLooks", "tokensBefore", "planFile", "requestId", "preserveData"} <= own
    found = {
        source.name: {key for _, key in spelled_in(source.tree) if key in own}
        for source in _sources()
        if not source.name.startswith("tools/")
    }
    assert {name: keys for name, keys in found.items() if keys} == {
        name: keys for name, (_, keys) in _ELSEWHERE.items()
    }


@pytest.mark.parametrize("way", [Ways.by_entries, Ways.by_details, Ways.by_storage, Ways.by_veils])
def test_a_dictionary_has_no_way_into_the_file(way: Callable[[Ways, Source], Iterator[str]]) -> None:
    assert [one for source in _sources() for one in way(_ways(), source)] == []


def test_nothing_is_told_to_the_log_as_a_dictionary() -> None:
    assert _ways().into_the_log() == []
    assert _ways().loose_members >= {"header", "entries", "queue", "append", "annotate", "create", "path_to"}


def test_nothing_else_has_a_form_that_could_be_stored() -> None:
    found = [one for source in _sources() for one in _ways().by_forms(source)]
    assert {one.partition(":")[0] for one in found} == _OTHER_FORMS.keys()


_IMPORTS = """
from north_lsp.agent.log.choices import ModeEntry
from north_lsp.agent.log.messages import AnswerEntry
from north_lsp.agent.log.questions import PlanModeRequest
from north_lsp.agent.log.reviews import ToolRequest
from north_lsp.storage.conversation import Conversation
_INDEX, _KEY = "index", "skill"
"""


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("ModeEntry(mode, None, {'data': data})", "ModeEntry(more=…)"),
        ("AnswerEntry(content, more=given(details=said))", "AnswerEntry(more=…)"),
        ("AnswerEntry(content, raw_usage={'input': 1})", "AnswerEntry(raw_usage=…)"),
        ("ToolRequest(name, server, tool, {'path': path})", "ToolRequest(arguments=…)"),
        ("PlanModeRequest(**told)", "PlanModeRequest(**=…)"),
        ("replace(entry, more=more)", "replace(more=…)"),
        ("replace(entry, kept={'note': 1} if kept else {})", "replace(kept=…)"),
        ("def run():\n  return Result(text, True, ended, {'cancelled': True})", "details"),
        ("def run():\n  told = {'cancelled': True} if x else {}\n  return Result(text, True, ended, told)", "details"),
        ("def run():\n  rows = [one.to_json() for one in all]\n  return Result(text, True, ended, rows[0])", "details"),
        ("def run():\n  return Output(title, details={_KEY: name})", "details"),
        ("Conversation.create(store, parent={'id': id})", "Conversation.create({…})"),
        ("self._log.conversation.annotate('label', label='x')", "self._log.conversation.annotate"),
        ("source, title = log.conversation, ''\nsource.entries", "source.entries"),
        ("self._conversation.answer.arriving()", "self._conversation.answer.arriving"),
        ("first = {**entry.to_json(), 'id': id}", "more keys than an entry has"),
        ("entry.to_json()['text']", "a key of an entry"),
        ("class Veil:\n  def take_unrecorded(self):\n    return [{_INDEX: 1}]", "index"),
        ("class Plan:\n  def to_json(self):\n    return {}", "to_json"),
    ],
)
def test_what_would_spell_a_key_is_found(code: str, found: str) -> None:
    source = Source("there.py", ast.parse(_IMPORTS + code))
    ways = (_ways().by_entries, _ways().by_details, _ways().by_storage, _ways().by_veils, _ways().by_forms)
    assert found in {one.split(": ", 1)[-1].split(":")[-1].strip() for way in ways for one in way(source)}


@pytest.mark.parametrize("code", ["record['id']", "record.get('id')", "case = {'id': 1}", "'id' in record"])
def test_who_holds_lines_of_the_file_spells_no_key(code: str) -> None:
    source = Source("there.py", ast.parse(f"from north_lsp.storage.entries import Record\n{code}"))
    assert [one.rpartition(" ")[2] for one in _ways().by_storage(source)] == ["id"]


@pytest.mark.parametrize(
    "code", ["{'toolCallId': 1}", "given(toolCallId=1)", "_X = 'toolCallId'\nx[_X]", "('toolCallId',)"]
)
def test_a_key_of_several_words_is_found(code: str) -> None:
    assert "toolCallId" in {key for _, key in spelled_in(ast.parse(code))}
