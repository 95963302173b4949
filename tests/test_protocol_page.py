"""docs/protocol.md names North's own methods, events and commands, each of them, and no field that no code knows."""

import ast
import inspect
import json
import re
from pathlib import Path

from north_lsp.acp import extension_events
from north_lsp.acp.initialize import EXTENSION_METHODS
from north_lsp.lsp.initialize import COMMANDS

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "protocol.md").read_text("utf-8")

_FENCED = re.compile(r"^```json\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`\n]+)`")
# Requests and notifications that are no methods of the server's, or no requests.
OTHERS = {"_north/event", "_north/languageFeature", "_north/leaving", "_north/saveFiles"}
# Other programs' files, and fields that are made of a dataclass' names.
ELSEWHERE = {
    "coc",
    "_tick",
    "_succeeded",
    "failedAnswers",
    "filesRead",
    "modelSeconds",
    "ownCommands",
    "reasoningTokens",
    "wallSeconds",
}


def spelled(pattern: str, prose: str) -> set[str]:
    """The names of that form; what follows one without its beginning (`/edit`, `_tick`) has that of the one before."""
    found: set[str] = set()
    for line in prose.splitlines():
        last = ""
        for span in _SPAN.findall(line):
            if re.fullmatch(pattern, span):
                last = span
                found.add(span)
            elif last and re.fullmatch(r"[/_][a-z]+", span):
                found.add(last.rpartition(span[0])[0] + span)
    return found


def section(title: str, end: str) -> str:
    return PAGE.partition(title)[2].partition(end)[0]


def test_it_has_each_of_norths_methods_and_no_other() -> None:
    method = r"_north/\w+(?:/\w+)?"
    assert sorted(set(EXTENSION_METHODS) - spelled(method, PAGE)) == []
    whole = {span for span in _SPAN.findall(PAGE) if re.fullmatch(method, span)}
    assert sorted(whole - set(EXTENSION_METHODS) - OTHERS) == []


def test_it_has_each_event_and_no_other() -> None:
    made = ast.walk(ast.parse(inspect.getsource(extension_events)))
    pairs = (node.elts[0] for node in made if isinstance(node, ast.Tuple) and len(node.elts) == 2)
    sent = {first.value for first in pairs if isinstance(first, ast.Constant) and isinstance(first.value, str)}
    sent -= {"steer", "followUp"}  # fields of one
    rows = [line.split(" | ")[0] for line in section("**Events.**", "\n**Tasks").splitlines() if line.startswith("| `")]
    assert len(sent) > 25
    assert sorted(spelled(r"[a-z]+(?:_[a-z]+)+|attention|notice", "\n".join(rows))) == sorted(sent)


def test_it_has_each_command_of_the_server_and_no_other() -> None:
    assert sorted({name for name in _SPAN.findall(PAGE) if re.fullmatch(r"north(?:\.\w+)+", name)}) == sorted(COMMANDS)


def test_every_name_in_it_is_known_to_the_code() -> None:
    sources = (path.read_text("utf-8") for path in (ROOT / "north_lsp").rglob("*.py"))
    known = {word for source in sources for word in re.findall(r"[A-Za-z_]\w*", source)} | ELSEWHERE
    spans = " ".join(_SPAN.findall(re.sub(r"^```.*?^```$", "", PAGE, flags=re.MULTILINE | re.DOTALL)))
    assert sorted(set(re.findall(r"[A-Za-z_]\w+", spans)) - known) == []


def test_the_examples_are_json() -> None:
    examples = [example for example in _FENCED.findall(PAGE) if example.count("\n") > 0]
    assert len(examples) > 8
    for example in examples:
        assert isinstance(json.loads(example), dict)
