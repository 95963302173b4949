"""Patterns mean what git means by them, and matching them takes bounded time however they are written."""

import re
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from north_lsp.errors import ToolError
from north_lsp.workspace.edit.new_file_style import new_file_text
from north_lsp.workspace.files.gitignore import parse
from north_lsp.workspace.files.wildmatch import any_matches, translate
from north_lsp.workspace.search.query import compile_glob


def matches(pattern: str, path: str) -> bool:
    """Wildcards by their definition, without regard to effort: `**` only as a whole name."""

    @cache
    def rest(at: int, to: int) -> bool:
        if at == len(pattern):
            return to == len(path)
        if pattern.startswith("**/", at) and (at == 0 or pattern[at - 1] == "/"):
            return rest(at + 3, to) or any(path[end] == "/" and rest(at + 3, end + 1) for end in range(to, len(path)))
        if pattern[at:] == "**" and (at == 0 or pattern[at - 1] == "/"):
            return True
        here = path[to : to + 1]
        if pattern[at] == "*":
            return rest(at + 1, to) or (here not in ("", "/") and rest(at, to + 1))
        if pattern.startswith(("[ab]", "[!a]"), at):
            fits = here in ("a", "b") if pattern[at + 1] != "!" else here not in ("", "/", "a")
            return fits and rest(at + 4, to + 1)
        if pattern[at] == "?":
            return here not in ("", "/") and rest(at + 1, to + 1)
        return here == pattern[at] and rest(at + 1, to + 1)

    return rest(0, 0)


_PLAIN = st.lists(st.sampled_from(["a", "b", "*", "*", "?", "[ab]", "[!a]", "a*b"]), min_size=1, max_size=5).map(
    "".join
)
_NAMES = _PLAIN.filter(lambda name: "**" not in name) | st.just("**")


@settings(max_examples=600)
@given(
    pattern=st.lists(_NAMES, min_size=1, max_size=4).map("/".join),
    path=st.lists(st.text("abc", min_size=1, max_size=6), min_size=1, max_size=4).map("/".join),
)
def test_the_expression_means_what_the_wildcards_mean(pattern: str, path: str) -> None:
    expression = translate(pattern.encode())
    assert expression is not None
    assert (re.fullmatch(expression, path.encode(), re.DOTALL) is not None) == matches(pattern, path)


_STARS = (
    "*a" * 40 + "b",
    "**/*a*a*a*a*/" * 20 + "b",
    "**/a/" * 40 + "b",
    "[a]*" * 60 + "b",
    "a**" * 60 + "b",
    "*?" * 60,
)
_LONG = ("a" * 250, "/".join(["a" * 60] * 60), "a/" * 1000 + "a", "a" * 4000)


@pytest.mark.parametrize("pattern", _STARS)
def test_no_pattern_takes_for_ever(pattern: str) -> None:
    """Each of these took longer than anyone would wait, with everything else in the process standing still."""
    expression = translate(pattern.encode())
    assert expression is not None
    for path in _LONG:
        re.fullmatch(expression, path.encode(), re.DOTALL)
        any_matches([pattern], path)
        compile_glob(pattern)(path)
    for folded in (False, True):
        file = parse(f"{pattern}\n!{pattern}x\n*{pattern}\n/x/{pattern}\n".encode(), folded=folded)
        names = [path.replace("/", "a") for path in _LONG]
        joined = f"/{'/'.join(names)}/".encode()
        if not folded:
            file.may_meet_names(names, joined)
        file.may_meet_paths(joined, b"x/")
        for name in names:
            file.verdict(name.encode(), b"x/" + name.encode(), True)


@pytest.mark.parametrize(
    "glob", ["{" * 900, "{" + "," * 900 + "}" * 9, "{a,b}" * 60, "{a," * 300, "a" * 100_000, "[" * 990]
)
def test_a_glob_that_comes_to_too_much_is_refused(glob: str) -> None:
    with pytest.raises(ToolError) as caught:
        compile_glob(glob)
    assert caught.value.code == "INVALID_INPUT"


@pytest.mark.parametrize("section", ["{" + "," * 60_000, "{" * 30_000, "{a," * 20_000 + "}" * 9, "*a" * 300 + "b"])
def test_a_hostile_editorconfig_holds_nothing_up(tmp_path_factory: pytest.TempPathFactory, section: str) -> None:
    root = tmp_path_factory.mktemp("project")
    (root / ".editorconfig").write_text(f"[{section}]\nend_of_line = crlf\n")
    assert new_file_text(root / ("a" * 200), root, "x") == "x\n"
