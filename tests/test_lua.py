"""The plugin's Lua: what a merge or a slip leaves behind and no compiler reports."""

from pathlib import Path

import pytest

from tests.support.lua import problems

PLUGIN = Path(__file__).parent.parent / "nvim-client"


@pytest.mark.parametrize("path", sorted(PLUGIN.rglob("*.lua")), ids=lambda path: str(path.relative_to(PLUGIN)))
def test_nothing_is_there_twice_and_every_name_is_known(path: Path) -> None:
    assert problems(path.read_text()) == []


@pytest.mark.parametrize("path", sorted(PLUGIN.rglob("*.lua")), ids=lambda path: str(path.relative_to(PLUGIN)))
def test_messages_are_told_by_what_makes_them_fit_on_the_screen(path: Path) -> None:
    """Neovim waits for a key after a message that does not."""
    said = [words for words in ("vim.notify(", "nvim_err_write", "nvim_echo(") if words in path.read_text()]
    assert said == [] or path.name == "messages.lua"


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ('local t = { a = 1, ["a"] = 2 }', "line 1: the key a occurs twice"),
        (
            "local t = {\n  f = function(x)\n    local b, c = x, 1\n  end,\n  f = 1,\n}",
            "line 5: the key f",
        ),
        ("local M = {}\nfunction M.f() end\nfunction M.f() end", "line 3: the function M.f occurs twice"),
        ("local function f() end\nlocal function f() end", "line 2: the function f occurs twice"),
        ("local function f()\n  return root\nend", "line 2: root is not the name of anything here"),
        ("for _, one in pairs({}) do\n  print(one)\nend\nprint(one)", "line 4: one is not"),
        ("if true then\n  local a = 1\n  print(a)\nelse\n  print(a)\nend", "line 5: a is not"),
    ],
)
def test_what_is_there_twice_or_is_nothing_is_found(source: str, problem: str) -> None:
    (found,) = problems(source)
    assert found.startswith(problem)


def test_names_in_texts_comments_fields_and_methods_are_none() -> None:
    source = """
    --[[ nothing = { a, a } ]]
    local t = { a = "root", b = [[ root ]] } -- root
    function t:each(action, ...)
      for index = 1, #t do
        action(self.root, t.b:format(index), ...)
      end
      while true do
        goto out
      end
      ::out::
      return function(x) return { x = x, t.a, y = { x = 1 } } end
    end
    return t
    """
    assert problems(source) == []
