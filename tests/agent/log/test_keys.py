"""Only `agent/log` (and `storage`, which writes what it gets) knows how the log is spelled."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import north_lsp

_AGENT = Path(north_lsp.__file__).parent / "agent"
_READS = re.compile(
    r"""entry\["|\.get\("(type|role|message|toolCallId)"|conversation\.(append|annotate)\(|header(\.get\(|\[)"""
)
_KEYS = re.compile(
    r"""["'](toolCallId|toolName|toolResult|bashExecution|excludeFromContext|parentId|stopReason|errorMessage|checkpointId"""
    r"""|entry_updated|command_executed|file_mention|tool_call|model_change|mode_change|thinkingLevel|fromQueue)["']"""
)


def test_only_the_log_spells_a_key_of_the_file() -> None:
    found = [
        f"{path.relative_to(_AGENT)}:{number}: {line.strip()}"
        for path in sorted(_AGENT.rglob("*.py"))
        if "log" not in path.relative_to(_AGENT).parts[:1]
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if _READS.search(line) or _KEYS.search(line)
    ]
    assert found == []


_NOT_THE_FILE = {
    "agent/compaction/answer.py": "what a model has answered",
    "agent/compaction/compactor.py": "what extensions are told",
    "agent/compaction/extension_hooks.py": "what extensions answer",
    "agent/edits/model_report.py": "what a model is told",
    "agent/ports/diagnostics.py": "North's own log",
    "agent/session/commands/slash_host.py": "the file of all costs",
    "agent/session/navigation/tree_events.py": "what extensions are told",
}


def _keys(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield what is spelled as a key: of a dict, an index, a look-up, or a question whether there is one."""
    for node in ast.walk(tree):
        match node:
            case ast.Dict(keys=keys):
                spelled = [one for one in keys if one is not None]
            case ast.Subscript(slice=key):
                spelled = [key]
            case ast.Call(func=ast.Attribute(attr="get" | "pop" | "setdefault"), args=[key, *_]):
                spelled = [key]
            case ast.Compare(left=key, ops=[ast.In() | ast.NotIn()]):
                spelled = [key]
            case ast.MatchMapping(keys=keys):
                spelled = [*keys]
            case _:
                continue
        for one in spelled:
            if isinstance(one, ast.Constant) and isinstance(one.value, str):
                yield one.lineno, one.value


def test_no_key_that_the_log_spells_is_spelled_elsewhere() -> None:
    """Of all its keys those that are made of several words: others are plain words. What adapters spell is ACP's."""
    log = {key for path in (_AGENT / "log").glob("*.py") for _, key in _keys(ast.parse(path.read_text()))}
    own = {key for key in log if re.search("[a-z][A-Z]|_", key)}
    assert {"toolCallId", "exitCode", "onlyLooks", "tokensBefore"} <= own
    package = _AGENT.parent
    found = {
        path.relative_to(package).as_posix(): [f"{line}: {key}" for line, key in keys]
        for room in ("agent", "slash", "command_policy")
        for path in sorted((package / room).rglob("*.py"))
        if path.parent != _AGENT / "log"
        if (keys := [one for one in _keys(ast.parse(path.read_text())) if one[1] in own])
    }
    assert {name: keys for name, keys in found.items() if name not in _NOT_THE_FILE} == {}
    assert found.keys() >= _NOT_THE_FILE.keys()
