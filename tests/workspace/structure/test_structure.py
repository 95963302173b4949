"""Structure of files of each language against golden lists (NORTH_GOLDEN=write rewrites them), whole and malformed."""

import ast
import os
import sysconfig
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from north_lsp.workspace.languages import LANGUAGES, endings_of_type, find_language, language_of
from north_lsp.workspace.structure import parsing, patterns
from north_lsp.workspace.structure.grammars import parse, parsed_languages
from north_lsp.workspace.structure.model import Structure
from north_lsp.workspace.structure.parsing import is_symbol, structure_of
from north_lsp.workspace.structure.scanning import brace_blocks, masked
from north_lsp.workspace.structure.views import blocks, chunks, code_blocks, enclosing, outline, outline_text
from tests.workspace.structure.structure_corners import CORNERS
from tests.workspace.structure.structure_samples import HTML, PYTHON, SAMPLES, TYPESCRIPT

GOLDEN = Path(__file__).with_name("golden")


def listed(found: Structure) -> str:
    rows = (
        f"{'  ' * one.depth}{one.kind} {one.name} {one.line} {one.start}-{one.end} | {one.label}"
        for one in found.symbols
    )
    return "\n".join([f"# {found.language}, {found.backend}", *rows]) + "\n"


@pytest.mark.parametrize("language", SAMPLES)
def test_symbols_are_the_golden_ones(language: str) -> None:
    _check_golden(listed(structure_of(language, SAMPLES[language][0])), GOLDEN / f"{language}.txt")


@pytest.mark.parametrize("language", CORNERS)
def test_corners_of_the_language_are_the_golden_ones(language: str) -> None:
    _check_golden(listed(structure_of(language, CORNERS[language])), GOLDEN / f"{language}-corners.txt")


def _check_golden(shown: str, golden: Path) -> None:
    if os.environ.get("NORTH_GOLDEN") == "write":
        golden.write_text(shown)
    assert shown == golden.read_text()


@pytest.mark.parametrize("language", [language for language, (_, bad) in SAMPLES.items() if bad])
def test_a_mistake_loses_no_other_symbol(language: str) -> None:
    good, bad = SAMPLES[language]
    assert good != bad
    before, after = structure_of(language, good), structure_of(language, bad)
    names = {one.name for one in before.symbols if one.kind not in ("import", "rule")}
    assert names <= {one.name for one in after.symbols}
    assert before.errors == ()
    if language != "html":
        assert after.errors


# Words that begin a symbol, where none begins.
_WORDS_ELSEWHERE = """\
class_ = undefined = type (important)
# import, class, def
if type (class_) or (lambda default: type (default))(1):
    "def f(): import x"; import a; x = "class"; import b
elif undefined: import c
else:
    type T[type_] = type (1)
@type (default)  # class
# def
@decorator("import")
async def define(imported=type (1), *, defined: "class" = "def") -> "import":
    # def first
    type (define)
    # def last
@final
class classes(type (1), metaclass=type):
    import_ = type (1)
    def define(self): import d; return [type (x) for x in undefined]  # def
    # class
    class inner: pass
    @property
    def type(self): return 1
for type in (1,): import e
match undefined:
    case 1: import f
    case type (): from . import (g,
        h)
with open("import") as default: from __future__ import i
try:
    def j(): pass
except type (x): import k
finally: import l
"""


def _sources() -> list[str]:
    library = Path(sysconfig.get_path("stdlib"))
    real = [path.read_text("utf-8") for path in sorted((library / "asyncio").glob("*.py"))]
    return [PYTHON, CORNERS["python"], _WORDS_ELSEWHERE, "x = 1; import a\nif 1: import b\n", "", *real]


@pytest.mark.parametrize("text", _sources(), ids=lambda text: str(len(text)))
def test_walking_statements_finds_what_the_query_finds(text: str) -> None:
    source = text.encode()
    tree = parse("python", source)
    assert not tree.root_node.has_error
    walked, queried = parsing._walked("python", tree, source), parsing._captured("python", tree, source)
    assert sorted(walked, key=repr) == sorted(queried, key=repr)


def test_every_grammar_has_a_sample() -> None:
    assert set(parsed_languages()) <= set(SAMPLES)


def _files() -> list[Path]:
    library = Path(sysconfig.get_path("stdlib"))
    return [
        path
        for package in ("json", "email", "asyncio", "unittest")
        for path in sorted((library / package).glob("*.py"))
    ]


@pytest.mark.parametrize("path", _files(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_real_files_have_the_symbols_that_python_itself_sees(path: Path) -> None:
    text = path.read_text("utf-8")
    wanted = [
        (node.name, node.lineno, node.end_lineno)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    found = structure_of("python", text)
    kinds = ("function", "method", "class")
    symbols = sorted((one.name, one.line, one.end) for one in found.symbols if one.kind in kinds)
    assert [symbol[:2] for symbol in symbols] == [one[:2] for one in sorted(wanted)]
    lines = text.split("\n")
    for (*_, end), (*_, wanted_end) in zip(symbols, sorted(wanted), strict=True):
        assert wanted_end is not None
        # Comments behind the last statement belong to it here.
        assert all(not line.strip() or line.strip()[0] == "#" for line in lines[wanted_end:end])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(sorted(SAMPLES)), st.integers(0, 600), st.integers(0, 40), st.text(max_size=5))
def test_any_damage_is_survived(language: str, at: int, cut: int, put: str) -> None:
    good = SAMPLES[language][0]
    text = good[:at] + put + good[at + cut :]
    lines = text.split("\n")
    found = structure_of(language, text)
    for one in found.symbols:
        assert 1 <= one.start <= one.line <= one.end <= len(lines)
        assert len(one.label) <= 120
    for entry in outline(found, lines):
        assert 1 <= entry.startLine <= entry.endLine <= len(lines)
    for language_of_text in ("plain", language):
        for block in code_blocks(structure_of(language_of_text, text), text, put or "a", "any"):
            assert 1 <= block.start <= block.end <= len(lines)


@pytest.mark.parametrize(
    ("language", "text"),
    [(language, good) for language, (good, _) in SAMPLES.items()] + list(CORNERS.items()),
    ids=lambda value: str(value)[:10].strip(),
)
def test_a_bracket_or_quote_less_loses_nothing_on_other_lines(language: str, text: str) -> None:
    symbols = [one for one in structure_of(language, text).symbols if is_symbol(one)]
    for at, character in enumerate(text):
        if character not in "()[]{}<>\"'`;:":
            continue
        line = text.count("\n", 0, at) + 1
        left = {one.name for one in structure_of(language, text[:at] + text[at + 1 :]).symbols}
        # A function of C that has its type on a line of its own is not known without its braces.
        lost = {
            one.name for one in symbols if one.line != line and not (language == "c" and one.start <= line <= one.end)
        }
        assert lost <= left, f"without {character} in line {line}"


def test_damage_makes_no_symbols_of_strings_comments_and_statements() -> None:
    text = '''"""
def quoted(): pass
"""
def f(:
    pass

def g():
    """Text.

    class Inner: pass
    """
'''
    assert [one.name for one in structure_of("python", text).symbols] == ["f", "g"]
    script = (
        "class A {\n  m( {\n    if (a) {\n    }\n    x = 5;\n    call();\n  }\n  n() {}\n/*\nfunction no() {}\n*/\n}\n"
    )
    assert {one.name for one in structure_of("typescript", script).symbols} == {"A", "n", "call"}  # as in an interface
    body = "function f() {\n  a(;\n  if (b) {\n  }\n  c = 5;\n  d();\n}\nclass B {}\n"
    assert [one.name for one in structure_of("typescript", body).symbols] == ["f", "B"]


def test_a_symbol_ends_where_it_ends_though_a_brace_is_missing_before() -> None:
    text = "class A {\n  m() {\n    return 1;\n\n  n() {\n    return 2;\n  }\n}\nfunction f() {\n}\n"
    found = {one.name: (one.start, one.end) for one in structure_of("javascript", text).symbols}
    assert found["n"] == (5, 7)
    assert found["f"] == (9, 10)


def test_patterns_take_the_length_of_a_text_not_its_square() -> None:
    text = "".join(f"class C{number} {{\n  m(a) {{\n    if (a) {{ }}\n  }}\n}}\n" for number in range(12_000))
    started = time.process_time()
    assert len(patterns.find_symbols("typescript", text)) == 24_000
    assert time.process_time() - started < 4  # the square takes about ten


def test_a_damaged_file_of_ends_takes_no_square_of_time() -> None:
    text = "class A { void f( {\n" + "  }\n" * 24_000 + " x( ;\n"
    started = time.thread_time()
    structure_of("java", text)
    assert time.thread_time() - started < 15  # it was more than a minute


def test_outlines_group_imports_and_nest_what_is_embedded() -> None:
    shown = outline_text(outline(structure_of("python", PYTHON), []))
    assert shown.split("\n")[:3] == ["imports (2) [2-3]", "class A(Base) [5-14]", "└─ def x(self) -> int [9-11]"]
    shown = outline_text(outline(structure_of("html", HTML), []))
    assert "  └─ body [5-5]" in shown
    assert "└─ function run() [16-16]" in shown


def test_other_files_come_in_chunks() -> None:
    lines = ["", "first", *(f"line {number}" for number in range(60))]
    assert [(entry.label, entry.startLine, entry.endLine) for entry in chunks(lines)] == [
        ("first", 1, 50),
        ("line 48", 51, 62),
    ]


def test_blocks_of_a_page_are_numbered_by_where_they_are() -> None:
    ids = [block.id for block in blocks(structure_of("html", HTML))]
    assert ids == [
        *("html-0", "style-0", "style0-css-0", "style0-css-1", "style0-css-2", "html-1", "html-2", "html-3", "html-4"),
        *("html-5", "script-0", "script0-js-0", "script-1"),
    ]


def test_code_blocks_by_name_and_by_text() -> None:
    python = structure_of("python", PYTHON)
    assert [one.name for one in code_blocks(python, PYTHON, "main", "function")] == ["main"]
    assert [one.name for one in code_blocks(python, PYTHON, "return 1", "any")] == ["x"]
    assert [one.name for one in code_blocks(python, PYTHON, "return 1", "class")] == ["A"]
    assert [one.name for one in code_blocks(python, PYTHON, "INNER", "any")] == ["Inner"]
    page = structure_of("html", HTML)
    assert [one.name for one in code_blocks(page, HTML, "text</p>", "any")] == ["section", "p#p"]
    assert code_blocks(python, PYTHON, "Module.", "any") == []
    line = "@media x { .q { r: s } } .z { r: t }\n"
    assert [one.name for one in code_blocks(structure_of("css", line), line, "r: s", "any")] == [".q"]
    line = "<section><div id=a><p id=b>hit</p></div></section>\n"
    assert [one.name for one in code_blocks(structure_of("html", line), line, "hit", "any")] == ["div#a", "p#b"]


@pytest.mark.parametrize(
    ("language", "text", "query", "names"),
    [
        ("css", "a { color: red } b { color: blue }", "blue", ["b"]),
        ("css", "é { color: red } b { color: blue } c { top: 0 }", "blue", ["b"]),
        ("scss", "a { color: red; b { color: blue } }", "red", ["a"]),
        ("javascript", "class A { x() { return 1 } needle = 2; y() { return 3 } }", "return 3", ["y"]),
        ("javascript", "class A { x() { return 1 } needle = 2; y() { return 3 } }", "needle", ["A"]),
        ("javascript", "class A {\n  x() { return 1 } // needle\n  y() { return 3 }\n}", "needle", ["x"]),
        ("javascript", "export const f = () => 1, g = () => 2;", "() => 2", ["g"]),
        ("java", "class A { int x() { return 1; } int y() { return 2; } }", "return 1", ["x"]),
        ("python", "class A:\n    def f(self): return 1  # needle\n", "needle", ["f"]),
        ("python", "def f(): return 'é' ; x = 1\ndef g(): return 2\n", "x = 1", ["f"]),
        ("python", "def f():\n    return 1\n\ndef g():\n    return 2\n", "1\n\ndef", []),
        ("python", "class A:\n    def f(self):\n        a\n        b\n", "a\n        b", ["f"]),
        ("plain", "if (é) { a } else { b } for (;;) { c }", "b", ["else"]),
    ],
)
def test_a_text_is_found_in_the_block_that_holds_it(language: str, text: str, query: str, names: list[str]) -> None:
    assert [one.name for one in code_blocks(structure_of(language, text), text, query, "any")] == names


def test_a_letter_in_a_long_file_is_found_quickly() -> None:
    text = "".join(f"def f{number}(x):\n    y = x\n    return y\n" for number in range(5_000))
    started = time.process_time()
    assert len(code_blocks(structure_of("python", text), text, "return y", "any")) == 5_000
    assert len(code_blocks(structure_of("python", text), text, "y", "any")) == 5_000
    one_line = "".join(f"function f{number}(x){{return y}}" for number in range(3_000))
    assert len(code_blocks(structure_of("javascript", one_line), one_line, "return y", "any")) == 3_000
    assert time.process_time() - started < 5


def test_the_enclosing_function_is_the_innermost() -> None:
    typescript = structure_of("typescript", TYPESCRIPT)
    around = enclosing(typescript, 10)
    assert around is not None
    assert around.name == "make"
    assert enclosing(typescript, 2) is None


def test_strings_and_comments_open_no_block() -> None:
    text = 'a { "{" /* { */ } // {\nb { `}` }'
    assert [(block.open, block.close) for block in brace_blocks(masked(text, "c"))] == [(2, 16), (25, 31)]


def test_languages_are_told_by_name() -> None:
    assert {language.id for language in LANGUAGES if language_of(f"x{language.endings[0]}") is language} == {
        language.id for language in LANGUAGES
    }
    for path, id in (
        ("a/Dockerfile", "dockerfile"),
        ("x.d.ts", "typescript"),
        ("A.PY", "python"),
        ("Makefile", "make"),
    ):
        language = language_of(path)
        assert language is not None
        assert language.id == id
    assert language_of("unknown.zzz") is None
    assert find_language("C#") is find_language("cs")
    assert endings_of_type("ts") == (".ts", ".mts", ".cts", ".tsx")
    assert endings_of_type("klingon") is None
