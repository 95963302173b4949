"""The offline model: what it understands, what it does with the results, and that it keeps the stream contract."""

import inspect
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

import north_lsp.providers.offline
from north_lsp.providers.base import (
    AssistantMessage,
    BlockEnd,
    CallDelta,
    CallStart,
    Done,
    Message,
    ModelRequest,
    StreamEvent,
    Text,
    TextDelta,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from north_lsp.providers.offline.attached import Attachment
from north_lsp.providers.offline.brain import next_answer
from north_lsp.providers.offline.provider import OfflineProvider
from north_lsp.providers.offline.replies import read_ran, read_reply
from north_lsp.providers.offline.requests import (
    Create,
    Explain,
    ExplainThis,
    Find,
    Help,
    ListFiles,
    Read,
    Replace,
    Run,
    Task,
    Unknown,
    parse,
)

READING = ("list_root", "read_file", "search_text")
ALL = (*READING, "edit_create_file", "edit_replace_exact", "shell_run")
NOTE = "This was North's offline model"
HELP = "rule-based stand-in"

# -- what it understands ----------------------------------------------------------------------------------------------

UNDERSTOOD: list[tuple[str, list[Task]]] = [
    ("find greet", [Find("greet")]),
    ('Find "TODO" in src.', [Find("TODO", "src")]),
    ("search for `a b` in src/x.py", [Find("a b", "src/x.py")]),
    ("search src for foo", [Find("foo", "src")]),
    ("where is parse_config defined?", [Find("parse_config")]),
    ("grep foo", [Find("foo")]),
    ("please explain greet", [Explain("greet")]),
    ("Could you explain “greet”, please.", [Explain("greet")]),
    ("what is Greeter?", [Explain("Greeter")]),
    ("what does greet() do in a.py?", [Explain("greet", "a.py")]),
    ("how does the greet function work", [Explain("greet")]),
    ("explain how greet works", [Explain("greet")]),
    ("explain this", [ExplainThis()]),
    ("what does this do?", [ExplainThis()]),
    ("explain README.md", [Read("README.md")]),
    ("What does this project do?", [Read("README.md")]),
    ("explain the code base", [Read("README.md")]),
    ("what is my repo", [Read("README.md")]),
    ("read my file.md", [Read("my file.md")]),
    ("show lines 3-5 of a.py", [Read("a.py", (3, 5))]),
    ("open the file a.py", [Read("a.py")]),
    ("list the files", [ListFiles()]),
    ("what is in this project?", [ListFiles()]),
    ("list files in src", [ListFiles("src")]),
    ('replace "Hello" by "Good day" in a/b.py', [Replace("Hello", "Good day", "a/b.py")]),
    ("replace all 'x' with 'y' in a.py please", [Replace("x", "y", "a.py")]),
    ("change x to y in a.py", [Replace("x", "y", "a.py")]),
    ("rename foo to bar in `a b.py`", [Replace("foo", "bar", "a b.py")]),
    ('replace "x" by "" in a.py', [Replace("x", "", "a.py")]),
    ('in a.py, replace "x" by "y"', [Replace("x", "y", "a.py")]),
    ('replace "x" by "y"', [Replace("x", "y")]),
    ("replace 'it's' by 'its' in a.py", [Replace("it's", "its", "a.py")]),
    ('replace "print("hi")" by "print("ho")" in a.py', [Replace('print("hi")', 'print("ho")', "a.py")]),
    ("replace\n```\na\nb\n```\nby\n```\nc\n```\nin a.py", [Replace("a\nb", "c", "a.py")]),
    ('create notes/todo.md with "- water; then go"', [Create("notes/todo.md", "- water; then go")]),
    ("create a file named x.txt containing hello there", [Create("x.txt", "hello there")]),
    ("create a.txt with:\nrun one\nfind two", [Create("a.txt", "run one\nfind two")]),
    ("create a.txt with one; two\nthree", [Create("a.txt", "one; two\nthree")]),
    ("run `python3 -m unittest`.", [Run("python3 -m unittest")]),
    ("run ls -la; echo b", [Run("ls -la; echo b")]),
    ("run if true; then echo hi; fi", [Run("if true; then echo hi; fi")]),
    ("execute git add .", [Run("git add .")]),
    ("run `make` in src", [Run("make", "src")]),
    ("explain greet, then run `ls`", [Explain("greet"), Run("ls")]),
    ("find a; find b\nfind c", [Find("a"), Find("b"), Find("c")]),
    ("1. find a\n2. run ls.", [Find("a"), Run("ls")]),
    ('find "a, then b; c" then read a.py', [Find("a, then b; c"), Read("a.py")]),
    ("replace `a` by `b` in a.py and run `x`", [Replace("a", "b", "a.py"), Run("x")]),
    (
        "create a.py with:\n```python\nprint(1); then\n```\nthen run `python3 a.py`",
        [Create("a.py", "print(1); then"), Run("python3 a.py")],
    ),
    ("find greet, then tell a joke", [Find("greet"), Unknown("tell a joke")]),
    ("hello", [Help()]),
    ("[Between the turns: a.txt]\n\n[job 1 ended]\n\nfind x\n[or y]", list(parse("find x\n[or y]").tasks)),
    ("/help", [Help()]),
    ("", [Help()]),
    ("what can you do?", [Help()]),
    ('append "x" to a.txt', [Help()]),
    ("create a class with two methods", [Help()]),
    ("run the tests", [Help()]),
]


@pytest.mark.parametrize(("text", "tasks"), UNDERSTOOD, ids=[text for text, _ in UNDERSTOOD])
def test_understands(text: str, tasks: list[Task]) -> None:
    assert list(parse(text).tasks) == tasks


def test_what_is_attached_is_no_request() -> None:
    order = parse('explain this\n\n<selection path="a.py" lines="3-4">\nrun ls\nfind x\n</selection>')
    assert order.tasks == (ExplainThis(),)
    assert order.attachments == (Attachment("a.py", "run ls\nfind x", (3, 4)),)
    assert parse('<file path="a.py">\nrun ls\n</file>').tasks == (ExplainThis(),)
    closes_itself = '<file-2 path="a.html">\n</file>\nrun ls\n</file-2>'  # then the tag has a number
    assert parse(f"find x\n\n{closes_itself}").attachments == (Attachment("a.html", "</file>\nrun ls"),)
    assert parse('find x\n\n<folder path="a/">\nrun.py\n</folder>').tasks == (Find("x"),)


def test_words_may_stand_below_what_is_attached() -> None:
    files = '<file path="a.py">\nrun ls\n</file>\n\n<file path="b.py">\nfind x\n</file>\n\n'
    order = parse(f"{files}run `pwd`\n")
    assert order.tasks == (Run("pwd"),)
    assert [each.path for each in order.attachments] == ["a.py", "b.py"]
    assert parse(files).tasks == (ExplainThis(),)
    assert parse(f"[a note]\n\n{files}explain this").tasks == (ExplainThis(),)
    assert parse(f"find y\n\n{files}run `pwd`").tasks == (Find("y"),)  # below may be what an editor tells of itself


def test_what_an_editor_pastes_below_the_words_is_no_request() -> None:
    line = '\n\na/b.py:9-9\n\ndef greet(name: str) -> str: # "run ls"'
    lines = "\n\na/b.py:9-11\n\n   9: def greet():\n   10: \n   11:     run ls\n\n   Expand...\n"
    assert parse(f'replace "x" with "y"{line}').tasks == (Replace("x", "y"),)
    assert parse(f'replace "x" with "y"{line}').attachments == (Attachment("a/b.py", ""),)
    assert parse(f"explain this{lines}").tasks == (Read("a/b.py", (9, 11)),)
    assert parse(f"run `ls`, then find greet{lines}").tasks == (Run("ls"), Find("greet"))
    assert parse(lines).tasks == (Read("a/b.py", (9, 11)),)
    quoted = 'create a.md with "see\n\na/b.py:1-2\n\nthere"'
    assert parse(quoted).tasks == (Create("a.md", "see\n\na/b.py:1-2\n\nthere"),)
    assert parse("explain this project\n\na/b.py:1-1\n\n" + '"""A module.').tasks == (Read("README.md"),)


@pytest.mark.parametrize(
    "piece", ["x by ", '"a ', "'a ", "then ", " ", "a;", "```\n", '<file path="a">\n', " in", "“a", "\n\na:1-2"]
)
def test_long_texts_are_parsed_in_time(piece: str) -> None:
    parse(f"replace {piece * 3000}")


# -- a turn -----------------------------------------------------------------------------------------------------------

Canned = Mapping[str, object] | str
World = Callable[[ToolCall], Canned]


@dataclass
class Turn:
    calls: list[ToolCall]
    texts: list[str]
    messages: list[Message]

    @property
    def end(self) -> str:
        return self.texts[-1]

    @property
    def tools(self) -> list[str]:
        return [call.name for call in self.calls]


def ok(**data: object) -> dict[str, object]:
    return {"ok": True, "data": data}


def error(code: str, message: str, **details: object) -> dict[str, object]:
    return {"ok": False, "error": {"code": code, "message": message, "details": details}}


def shown(path: str, *lines: str, first: int = 1) -> dict[str, object]:
    content = "".join(f"{number}→{line}\n" for number, line in enumerate(lines, first))
    return ok(path=path, totalLines=first + len(lines) - 1, content=content, truncated=False)


def matches(*places: tuple[str, int, str], total: int | None = None) -> dict[str, object]:
    found = [{"path": path, "line": line, "column": 1, "text": text} for path, line, text in places]
    return ok(matches=found, totalMatches=len(found) if total is None else total, filesSearched=3, truncated=False)


def applied(path: str) -> dict[str, object]:
    return ok(applied=True, files=[{"path": path, "linesAdded": 1, "linesRemoved": 1}])


def world(**canned: Canned | list[Canned]) -> World:
    """Answers by tool name; a list is used up in its order."""
    left = {name: list(value) if isinstance(value, list) else value for name, value in canned.items()}

    def answer(call: ToolCall) -> Canned:
        value = left[call.name]
        return value.pop(0) if isinstance(value, list) else value

    return answer


def request(messages: list[Message], tools: tuple[str, ...] = ALL) -> ModelRequest:
    return ModelRequest(
        "offline",
        "system",
        tuple(messages),
        [ToolSpec(name, "", {"type": "object", "properties": {}}) for name in tools],
        1000,
    )


def play(prompt: str, answers: World, tools: tuple[str, ...] = ALL, before: tuple[Message, ...] = ()) -> Turn:
    """A turn as the core plays it, with canned results."""
    messages: list[Message] = [*before, UserMessage(prompt)]
    turn = Turn([], [], messages)
    for _ in range(40):
        answer = next_answer(request(messages, tools))
        messages.append(answer)
        turn.texts.append(answer.text)
        if not answer.calls:
            assert answer.stop_reason == "stop"
            return turn
        assert answer.stop_reason == "toolUse"
        assert answer.text
        for call in answer.calls:
            assert call.name in tools
            turn.calls.append(call)
            canned = answers(call)
            text = canned if isinstance(canned, str) else json.dumps(canned)
            is_error = "exit code" in text if isinstance(canned, str) else not canned["ok"]
            messages.append(ToolResult(call.id, call.name, text, is_error))
    raise AssertionError("the turn does not end")


def test_find_lists_ten_places_and_counts_the_rest() -> None:
    places = [("a.py", line, f"x{line} = greet()") for line in range(1, 13)]
    turn = play("find greet", world(search_text=matches(*places, total=30)))
    assert turn.calls[0].arguments == {"query": "greet"}
    assert turn.texts[0] == "I will look for `greet`."
    assert turn.end.count("\n- `a.py:") == 10
    assert "`a.py:10`" in turn.end
    assert "20 more" in turn.end


def test_find_nothing() -> None:
    assert "I did not find `x` in `src`." in play("find x in src", world(search_text=matches())).end


def test_explain_quotes_the_definition_its_docstring_and_its_uses() -> None:
    search = matches(
        ("README.md", 1, "greet people"), ("b.py", 4, "greet()"), ("a.py", 2, "def greet(name: str) -> str:")
    )
    read = shown("a.py", "# says hello", "def greet(name: str) -> str:", '    """A greeting."""', "    return name")
    turn = play("explain greet", world(search_text=search, read_file=read))
    assert turn.tools == ["search_text", "read_file"]
    assert turn.calls[1].arguments["path"] == "a.py"
    assert '# says hello\ndef greet(name: str) -> str:\n    """A greeting."""\n```' in turn.end
    assert "return name" not in turn.end
    assert "`b.py:4`, `README.md:1`" in turn.end
    assert "I do not reason" in turn.end


def test_explain_looks_for_the_definition_among_too_many_places() -> None:
    many = matches(("b.py", 4, "greet()"), total=900)
    search: list[Canned] = [many, matches(("a.go", 1, "func (g *G) greet() {"))]
    turn = play("explain greet", world(search_text=search, read_file=shown("a.go", "func (g *G) greet() {", "}")))
    assert turn.calls[1].arguments["regex"] is True
    assert re.search(str(turn.calls[1].arguments["query"]), "func (g *G) greet() {")
    assert "defined in `a.go`, line 1" in turn.end


def test_explain_without_a_definition_shows_the_first_use() -> None:
    turn = play("explain greet", world(search_text=matches(("b.py", 1, "greet()")), read_file=shown("b.py", "greet()")))
    assert "did not find a line that defines `greet`" in turn.end


def test_read_describes_a_file() -> None:
    read = shown("a.py", '"""Greetings."""', "", "class Greeter:", "    async def greet(self): ...")
    turn = play("read a.py", world(read_file=read))
    assert turn.end.startswith("`a.py` has 4 lines. It begins with: `Greetings.`")
    assert "- line 3: class `Greeter`\n- line 4: def `greet`" in turn.end


def test_read_a_missing_file() -> None:
    turn = play("read nope.py", world(read_file=error("NOT_FOUND", "nope.py does not exist")))
    assert "nope.py does not exist" in turn.end


def test_list_files() -> None:
    entries = [{"name": "src", "type": "dir"}, {"name": "a.py", "type": "file", "size": 3}]
    turn = play("list files", world(list_root=ok(root="/p", entries=entries, truncated=False)))
    assert "- `src/`\n- `a.py`" in turn.end


def test_replace_reads_first() -> None:
    answers = world(read_file=shown("a.py", "x"), edit_replace_exact=applied("a.py"))
    turn = play('replace "x" by "y" in a.py', answers)
    assert turn.tools == ["read_file", "edit_replace_exact"]
    assert turn.calls[1].arguments == {"path": "a.py", "old": "x", "new": "y"}
    assert "I replaced `x` with `y` in `a.py` (+1/-1 lines)." in turn.end


def test_replace_all_occurrences_of_an_ambiguous_text() -> None:
    edits: list[Canned] = [error("AMBIGUOUS", "x occurs 3 times", count=3), applied("a.py")]
    turn = play('replace "x" by "y" in a.py', world(read_file=shown("a.py", "x x x"), edit_replace_exact=edits))
    assert turn.calls[-1].arguments["expectedOccurrences"] == 3
    assert "all 3 occurrences" in turn.end


@pytest.mark.parametrize("code", ["NO_MATCH", "AMBIGUOUS", "STALE", "GENERATED_FILE"])
def test_replace_reports_what_does_not_work_and_does_not_loop(code: str) -> None:
    edit = error(code, "this is why", count=2)
    turn = play('replace "x" by "y" in a.py', world(read_file=shown("a.py", "z"), edit_replace_exact=edit))
    assert turn.tools.count("edit_replace_exact") <= 2
    assert "I did not replace `x` in `a.py`: this is why" in turn.end


def test_a_rejected_edit_is_reported_and_the_chain_goes_on() -> None:
    rejected = ok(applied=False, reason="rejected", comment="not now")
    answers = world(read_file=shown("a.py", "x"), edit_replace_exact=rejected, shell_run="fine")
    turn = play('replace "x" by "y" in a.py, then run `true`', answers)
    assert turn.tools == ["read_file", "edit_replace_exact", "shell_run"]
    assert "You rejected the change of `a.py`; nothing was written. Your comment: not now" in turn.end
    assert "I ran `true`: exit code 0." in turn.end


def test_what_needs_a_rejected_file_is_left_out() -> None:
    answers = world(edit_create_file=ok(applied=False, reason="rejected"), shell_run="fine")
    turn = play('create a.py with "print(1)", then run `python3 ./a.py`, then run `ls`', answers)
    assert [call.arguments.get("command") for call in turn.calls] == [None, "ls"]
    assert "I skipped `python3 ./a.py`" in turn.end


def test_create() -> None:
    turn = play('create a.md with "x"', world(edit_create_file=applied("a.md")))
    assert turn.calls[0].arguments == {"path": "a.md", "content": "x"}
    assert "I created `a.md`" in turn.end
    turn = play('create a.md with "x"', world(edit_create_file=error("CONFLICT", "a.md exists (3 bytes)")))
    assert "a.md exists (3 bytes)" in turn.end


def test_run_reports_the_exit_code_and_the_last_lines() -> None:
    output = "\n".join([*map(str, range(20)), "exit code 3"])
    turn = play("run `seq 20; false`", world(shell_run=output))
    assert turn.calls[0].arguments == {"command": "seq 20; false"}
    assert "I ran `seq 20; false`: exit code 3." in turn.end
    assert "\n18\n19\n```" in turn.end
    assert "\n5\n" not in turn.end


def test_a_denied_command_is_not_repeated() -> None:
    turn = play("run `rm x`, then run `ls`", world(shell_run=[ok(denied=True, comment="no"), "a"]))
    assert [call.arguments["command"] for call in turn.calls] == ["rm x", "ls"]
    assert "You denied `rm x`; it was not run. Your comment: no" in turn.end


def test_an_output_that_looks_like_an_ending_is_none() -> None:
    assert read_ran(read_reply(ToolResult("1", "shell_run", "exit code 9", False))).ending == "exit code 0"
    timed_out = "x\nstopped after 60 s (time limit)\n(the output is shortened: 9 lines, 9 bytes)"
    ran = read_ran(read_reply(ToolResult("1", "shell_run", timed_out, True)))
    assert (ran.ending, ran.tail) == ("stopped after 60 s (time limit)", "x")


@pytest.mark.parametrize("prompt", ['replace "x" by "y" in a.py', 'create a.py with "x"', "run `ls`"])
def test_a_reading_mode_says_how_to_switch(prompt: str) -> None:
    turn = play(prompt, world(), READING)
    assert turn.calls == []
    assert "this mode does not" in turn.end
    assert "agent mode" in turn.end


@pytest.mark.parametrize("prompt", ["find x", "explain x", "read a.py", "list files"])
def test_without_tools_it_says_so(prompt: str) -> None:
    assert "I cannot do that here" in play(prompt, world(), ()).end


def test_a_change_of_mode_within_a_turn_keeps_what_was_done() -> None:
    answers = world(read_file=shown("a.py", "x"), edit_replace_exact=applied("a.py"))
    messages = play('replace "x" by "y" in a.py', answers).messages[:-1]
    assert "I replaced" in next_answer(request(messages, READING)).text


def test_a_chain_reports_reading_at_once_and_acting_at_the_end() -> None:
    search, read = matches(("a.py", 1, "def greet():")), shown("a.py", "def greet():", "    ...")
    answers = world(search_text=search, read_file=read, edit_replace_exact=applied("a.py"), shell_run="OK")
    turn = play("explain greet, then replace `...` by `pass` in a.py, then run `t`", answers)
    assert turn.tools == ["search_text", "read_file", "edit_replace_exact", "shell_run"]
    assert "is defined in `a.py`" in turn.texts[2]
    assert "is defined in" not in turn.end
    assert turn.end.startswith("**Done**\n\n- I replaced")
    assert "\n- I ran `t`: exit code 0.\n\n  ```\n  OK\n  ```" in turn.end


def test_a_replacement_without_a_file_takes_the_attached_one() -> None:
    answers = world(read_file=shown("s.py", "x"), edit_replace_exact=applied("s.py"))
    turn = play('replace "x" by "y"\n\n<selection path="s.py" lines="2-2">\nx\n</selection>', answers)
    assert turn.calls[-1].arguments["path"] == "s.py"
    assert "In which file?" in play('replace "x" by "y"', world()).end


def test_a_selection_is_quoted_and_described() -> None:
    turn = play('explain this\n\n<selection path="s.py" lines="7-8">\ndef f():\n    ...\n</selection>', world())
    assert turn.calls == []
    assert "lines 7 to 8 of `s.py`" in turn.end
    assert "- line 7: def `f`" in turn.end
    assert "Nothing is attached" in play("explain this", world()).end


def test_a_cancelled_call_ends_the_work() -> None:
    turn = play("find x, then run `ls`", world(search_text=error("CANCELLED", "cancelled")))
    assert turn.tools == ["search_text"]
    assert "cancelled" in turn.end


def test_it_says_once_in_a_conversation_what_it_is() -> None:
    answers = world(search_text=matches())
    first = play("find x", answers)
    assert first.end.count(NOTE) == 1
    assert "Store an API Key" in first.end.splitlines()[-1]
    assert "north-lsp login" in first.end.splitlines()[-1]
    assert NOTE not in play("find x", answers, before=tuple(first.messages)).end


def test_help_says_what_it_is_and_how_to_get_a_real_model() -> None:
    for prompt in ("hello", "/help"):
        end = play(prompt, world()).end
        assert HELP in end
        assert "ANTHROPIC_BASE_URL" in end
        assert "--model sonnet-4-5" in end
        assert NOTE not in end
    examples = re.findall(r"^- [^:]+: (.*)$", play("help", world()).end, re.MULTILINE)
    for example in re.findall(r"(?<!`)(`+) ?([^`].*?[^ ]) ?\1(?!`)", " ".join(examples)):
        assert parse(example[1]).tasks != (Help(),), example


def test_calls_of_another_model_are_not_continued() -> None:
    answer = AssistantMessage((ToolCall("1", "list_root", {}),), "toolUse")
    messages: list[Message] = [UserMessage("run `ls`"), answer, ToolResult("1", "list_root", "{}", False)]
    assert "not mine" in next_answer(request(messages)).text


def test_every_phrase_is_in_the_file_and_used() -> None:
    import tomllib

    folder = Path(north_lsp.providers.offline.__file__).parent
    names = set(tomllib.loads((folder / "phrases.toml").read_text("utf-8")))
    source = "".join(path.read_text("utf-8") for path in folder.glob("*.py"))
    assert {name for name in names if f'"{name}"' not in source} == set()
    assert set(re.findall(r'phrase\(\s*"(\w+)"', source)) <= names


# -- the stream -------------------------------------------------------------------------------------------------------


class Unguarded(OfflineProvider):
    """For texts that no vendor would take."""

    stream = inspect.unwrap(OfflineProvider.stream)


async def streamed(asked: ModelRequest, provider: OfflineProvider | None = None) -> list[StreamEvent]:
    return [event async for event in (provider or OfflineProvider()).stream(asked)]


def check_contract(events: list[StreamEvent]) -> AssistantMessage:
    """Blocks come one after the other, each ended once, and add up to the message of the one Done at the end."""
    *parts, last = events
    assert isinstance(last, Done)
    assert last.reason == last.message.stop_reason
    texts: dict[int, str] = {}
    calls: dict[int, tuple[str, str]] = {}
    ended: list[int] = []
    for event in parts:
        assert not isinstance(event, Done)
        assert getattr(event, "index", None) == len(ended)
        match event:
            case TextDelta(index, text):
                assert text
                texts[index] = texts.get(index, "") + text
            case CallStart(index, id, name):
                calls[index] = (id, name)
                texts[index] = ""
            case CallDelta(index, piece):
                texts[index] += piece
            case BlockEnd(index, block):
                ended.append(index)
                assert block == last.message.blocks[index]
                if index in calls:
                    assert block == ToolCall(*calls[index], json.loads(texts[index]))
                else:
                    assert block == Text(texts[index])
            case _:
                raise AssertionError(event)
    assert ended == list(range(len(last.message.blocks)))
    return last.message


PIECES = (
    'explain |find |replace | by | in |a.py|"x"|`y`|create | with |run |, then |read |```\n|list files|\'|“|; |\0|{}'
)
PARTS = st.sampled_from([*PIECES.split("|"), "\n", "lines 1-2", '<selection path="a" lines="1-2">\n'])
TEXTS = st.one_of(st.text(), st.lists(PARTS, max_size=14).map("".join))
RESULTS = st.one_of(
    st.text(),
    st.sampled_from(
        [
            json.dumps(value)
            for value in (
                matches(("a.py", 1, "def x():"), ("b", 2, "x"), total=99),
                shown("a.py", "def x():", '    """x'),
                applied("a.py"),
                ok(applied=False),
                ok(denied=True),
                error("AMBIGUOUS", "", count=3),
                error("STALE", ""),
                {"ok": False},
                {"ok": True, "data": {"matches": [1, {}], "totalMatches": "x"}},
            )
        ]
    ),
)


@given(TEXTS, st.lists(st.tuples(RESULTS, st.booleans()), min_size=1, max_size=5), st.sampled_from([ALL, READING, ()]))
def test_any_text_gives_a_good_stream_and_an_end(
    prompt: str, results: list[tuple[str, bool]], tools: tuple[str, ...]
) -> None:
    async def turn() -> None:
        messages: list[Message] = [UserMessage(prompt)]
        for number in range(160):
            events = await streamed(request(messages, tools), Unguarded())
            message = check_contract(events)
            assert message.blocks
            assert message.usage.input > 0
            assert events == await streamed(request(messages, tools), Unguarded())
            if not message.calls:
                return
            messages.append(message)
            for call in message.calls:
                text, is_error = results[number % len(results)]
                messages.append(ToolResult(call.id, call.name, text, is_error))
        raise AssertionError("the turn does not end")

    anyio.run(turn)


def test_call_ids_differ_within_a_conversation() -> None:
    answers = world(shell_run="OK")
    first = play("run `a`, then run `a`", answers)
    second = play("run `a`, then run `a`", answers, before=tuple(first.messages))
    ids = [call.id for call in (*first.calls, *second.calls)]
    assert len(set(ids)) == len(ids) == 4


def test_a_delay_is_kept_and_can_be_cancelled() -> None:
    async def cancelled() -> list[Any]:
        seen: list[Any] = []
        with anyio.CancelScope() as scope:
            async for event in OfflineProvider(delay=0.05).stream(request([UserMessage("hello")])):
                seen.append(event)
                if len(seen) == 3:
                    scope.cancel()
        return seen

    began = time.monotonic()
    seen = anyio.run(cancelled)
    assert time.monotonic() - began >= 3 * 0.05
    assert len(seen) == 3
    assert not isinstance(seen[-1], Done)


@pytest.mark.parametrize("text", ["{0}explain greet", "explain greet\n\n{0}"])
def test_what_the_editor_shows_is_no_part_of_what_is_asked(text: str) -> None:
    told = "<context>\nActive file: a.py\n\nCursor in line: 1\n</context>\n\n"
    alone, beside = (
        next_answer(ModelRequest("offline", "", [UserMessage(text.format(context))], (), 1000))
        for context in ("", told)
    )
    assert alone.blocks == beside.blocks
