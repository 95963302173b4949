"""The parser against bash itself: whatever rules let pass runs nothing but what the parser saw, word for word."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from north_lsp.command_policy.allowed import Rule
from north_lsp.command_policy.parsing import MAX_LENGTH, NotSimple, parse
from north_lsp.command_policy.places import Place
from north_lsp.command_policy.rules import find_uncovered
from north_lsp.workspace.paths import Roots

RULES = [Rule(("expr",), ("-*",)), Rule(("uname",), ("-a", "-s")), Rule(("echo",), ("-*",)), Rule(("true",))]
WORDS = [
    "expr",
    "bad",
    "uname",
    "uname -s",
    "echo",
    "true",
    "false",
    "bad2",
    "a",
    "-a",
    "--x=y",
    "x=1",
    "A=",
    "bad=1",
    "1",
    "2",
]
SYMBOLS = [
    " ", " ", " ", ";", "&&", "||", "|", "|&", "&", "\n", "\\\n", "\\", "'", "\"", "`", "$", "$(", ")", "(", "{",
    "}", "{ ", "; }", "<", ">", ">>", "<<", "<<<", "<<EOF\n", "\nEOF\n", ">&", "&>", "2>&1", ">/dev/null",
    "2>/dev/null", ">|", "<>", "<(", ">(", "!", "#", " # ", "~", "*", "?", "[", "]", "[[", "]]", "((", "))", "$((",
    "$[", "${", "}", "$'", "$\"", ",", "..", "=", "+=", "\t", "\r", "\x0b", "\u00a0", "\u200b", "\u00e9", "if ",
    "then ", "fi", "for ", "do ", "done", "case ", "esac", "eval ", "exec ", "command ", "builtin ", "time ",
    "coproc ", "function ", "()", "[$(bad)]", "$x", "${x}", "\\$", "\\'", "\\\"", "\\`", ";;", "-", "--", "'a b'",
    "\"a b\"", "\\n", "\\x", "{a,b}", "{1..2}", "^", "%", "@", ":", "/", "./", "bad;", "$(bad)", "`bad`", "'bad'",
]  # fmt: skip
texts = st.lists(st.sampled_from(WORDS + SYMBOLS), min_size=1, max_size=14).map("".join)
spaced = st.lists(st.sampled_from(WORDS + SYMBOLS), min_size=1, max_size=10).map(" ".join)
STUB = '#!/bin/sh\nprintf "%s\\0" "$#" "${0##*/}" "$@" >> "$STUB_LOG"\n'


@dataclass
class World:
    folder: Path

    @property
    def place(self) -> Place:
        root = self.folder / "project"
        return Place(root, Roots((root,)), False, {"PATH": f"{self.folder}/bin"}, lambda cwd, writes: None)

    def run(self, *texts: str) -> list[list[tuple[str, ...]]]:
        """What bash ran for each text, with the arguments; and files that appeared count as a command, too. One bash
        reads them all, each in a process of its own and as North's shell does: with `.`."""
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            base = Path(name)
            for number, text in enumerate(texts):
                (base / str(number)).mkdir()
                (base / f"{number}.sh").write_text(text + "\nwait\n", "utf-8", "surrogateescape", newline="")
                (base / f"{number}.log").touch()
            each = 'for n; do (STUB_LOG=$PWD/$n.log; export STUB_LOG; cd $n; . "../$n.sh"); done'
            subprocess.run(
                ["/bin/bash", "--noprofile", "--norc", "-c", each, "bash", *map(str, range(len(texts)))],
                cwd=base, env={"PATH": f"{self.folder}/bin", "LC_ALL": "C.UTF-8"}, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=20, check=False,
            )  # fmt: skip
            return [_seen_by(base, number) for number in range(len(texts))]


def _seen_by(base: Path, number: int) -> list[tuple[str, ...]]:
    fields, ran = (base / f"{number}.log").read_text("utf-8").split("\0")[:-1], list[tuple[str, ...]]()
    while fields:
        size = int(fields[0]) + 2
        ran.append(tuple(fields[1:size]))
        del fields[:size]
    return [*ran, *(("made", name) for name in sorted(os.listdir(base / str(number))))]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(os.path.realpath(name))
        (folder / "bin").mkdir()
        (folder / "project").mkdir()
        for stub in ("expr", "bad", "uname", "bad2", "a", "1", "2"):
            (folder / "bin" / stub).write_text(STUB)
            (folder / "bin" / stub).chmod(0o755)
        yield World(folder)


def check(world: World, *texts: str) -> int:
    """How many of the texts pass; then bash may run only what was seen."""
    passing = [text for text in texts if find_uncovered(text, RULES, lambda part: False, world.place) is None]
    for text, ran in zip(passing, world.run(*passing) if passing else [], strict=True):
        seen = [tuple(word.text for word in simple.words) for simple in parse(text)]
        for one in ran:
            assert one in seen, (text, one, seen)
            assert one[0] in ("expr", "uname", "echo", "true"), (text, one)
    return len(passing)


@settings(max_examples=1500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(texts, spaced))
@example("expr \\\nbad")
@example("expr\\\n;bad")
@example("expr # \\\nbad")
@example("expr '#' ; bad")
@example("expr a#b;bad")
@example("expr 2>/dev/null;bad")
@example('expr "a\\"";bad')
@example("expr '\\';bad")
@example("expr $;bad")
@example("expr {}&bad")
@example("! expr;bad")
def test_nothing_runs_that_was_not_covered(world: World, text: str) -> None:
    check(world, text)


quoted = st.one_of(
    st.text('ab $`\\"!*#;&|<>(){}\n~=', max_size=6).map(lambda text: "'" + text + "'"),
    st.text("ab '!*#;&|<>(){}\n~=", max_size=6).map(lambda text: '"' + text + '"'),
    st.sampled_from(
        [
            "a",
            "-a",
            "--x=y",
            "a=b",
            "a\\ b",
            "\\;",
            "\\\\",
            "{}",
            "a{b}c",
            "é",
            "a#b",
            "1",
            "$",
            '"$"',
            "a\\\nb",
            '"\\$x"',
            '"\\\\"',
            '"a\\b"',
        ]
    ),
)
plain = st.builds(
    lambda program, words, tail: " ".join([program, *words]) + tail,
    st.sampled_from(["expr", "uname -s", "! expr", "  expr"]),
    st.lists(quoted.filter(lambda word: "\u2028" not in word), max_size=4),
    st.sampled_from(["", " >/dev/null", " 2>&1", " </dev/null", " &>/dev/null", " # bad", "  "]),
)
lines = st.lists(
    st.tuples(plain, st.sampled_from([";", " && ", " || ", " | ", "\n", " & ", " |& "])), min_size=1, max_size=3
).map(
    lambda parts: "".join(
        text + (link if at < len(parts) - 1 else "")
        for at, (text, link) in enumerate(parts)
        for text, link in [(text, "\n" if "#" in text[-6:] else link)]
    )
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(plain, min_size=10, max_size=10))
def test_plain_words_reach_the_program_as_they_were_seen(world: World, texts: list[str]) -> None:
    parsed = []
    for text in texts:
        try:
            parsed.append((text, parse(text)))
        except NotSimple:
            continue
    for (text, commands), ran in zip(parsed, world.run(*(text for text, _ in parsed)), strict=True):
        seen = [tuple(word.text for word in one.words) for one in commands if not any(w.is_glob for w in one.words)]
        for one in ran:
            assert one in seen, (text, one, seen)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(lines, min_size=10, max_size=10))
def test_lists_run_only_what_was_seen(world: World, texts: list[str]) -> None:
    check(world, *texts)


def test_the_oracle_sees_what_bash_runs(world: World) -> None:
    """So that the tests above can fail."""
    ran = world.run("expr 'a b' $(bad)", "uname -s; echo > made", "exit 3; bad", "bad2 |& a", "if", "expr")
    assert sorted(ran[0]) == [("bad",), ("expr", "a b")]
    assert ran[1:3] == [[("uname", "-s"), ("made", "made")], []]
    assert sorted(ran[3]) == [("a",), ("bad2",)]
    assert ran[4:] == [[], [("expr",)]]


def test_such_lines_do_pass(world: World) -> None:
    for text in (
        "expr a 'b c' \"d\" && uname -a | expr; true",
        "expr\nexpr # x\n! expr >/dev/null 2>&1",
        "expr {} a{b}c \\; $",
    ):
        assert check(world, text) == 1


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=40))
def test_no_text_breaks_the_parser(text: str) -> None:
    try:
        found = parse(text)
    except NotSimple:
        return
    assert found


@pytest.mark.parametrize("piece", ["(", "$(", "{", "'a' ", '"', "\\", "a;", "&&", "<<", "[[", "\n", "$((", "`", "{a,"])
def test_no_text_hangs_the_parser(piece: str) -> None:
    text = (piece * MAX_LENGTH)[:MAX_LENGTH]
    try:
        found = parse(text)
    except NotSimple:
        return
    assert found
