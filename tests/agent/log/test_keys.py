"""Only `agent/log` (and `storage`, which writes what it gets) knows how the log is spelled."""

import re
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
