"""The server's settings in a real Neovim: `:North config` lists, changes and takes back, and `setup()` has a layer."""

import json
from typing import cast

from tests.e2e.nvim.nvim_driver import Nvim
from tests.e2e.nvim.test_plugin import FILE, Bed, bed

__all__ = ["bed"]

_CHOOSE = """
local words = ...
_G.offered = {}
vim.ui.select = function(items, options, on_choice)
  local rows = vim.tbl_map(options.format_item or tostring, items)
  table.insert(_G.offered, { prompt = options.prompt, rows = rows })
  local word = table.remove(words, 1)
  for index, row in ipairs(rows) do
    if word and row:find(word, 1, true) then
      return on_choice(items[index], index)
    end
  end
  on_choice(nil, nil)
end
_G.told = {}
vim.notify = function(text)
  table.insert(_G.told, text)
end
"""


def told(nvim: Nvim, word: str) -> str:
    """Wait for a notification with this word, and return all of them."""
    nvim.until(f"table.concat(_G.told or {{}}, ' '):find({json.dumps(word)}, 1, true)")
    return " ".join(cast(list[str], nvim.lua("return _G.told")))


def test_a_setting_is_chosen_changed_and_taken_back(bed: Bed) -> None:
    path = bed.folder / "config" / "config.json"
    with bed.nvim(FILE) as nvim:
        nvim.lua(_CHOOSE, ["edits.staleCheck", "Change in", "strict"])
        nvim.command("North config edits")
        assert "edits.staleCheck is strict, from settings file" in told(nvim, "is strict")
        assert json.loads(path.read_text())["edits.staleCheck"] == "strict"
        rows = cast(list[dict[str, list[str]]], nvim.lua("return _G.offered"))
        assert any(row.startswith("edits.tolerance = none  (default)  With ") for row in rows[0]["rows"])
        nvim.lua(_CHOOSE, ["Reset"])
        nvim.command("North config edits.staleCheck")
        assert "edits.staleCheck is warn, from default" in told(nvim, "is warn")
        assert "staleCheck" not in path.read_text()
        names = nvim.lua("return vim.fn.getcompletion('North config edits.st', 'cmdline')")
        assert names == ["edits.staleCheck", "edits.streamGuard"]


def test_what_setup_has_wins_over_the_file(bed: Bed) -> None:
    with bed.nvim(FILE) as nvim:
        nvim.lua("require('north').setup({ settings = { turn = { maxRequests = 7 } } })")
        nvim.lua(_CHOOSE, [])
        nvim.command("North config turn.maxRequests")
        nvim.until("_G.offered and #_G.offered > 0")
        offered = cast(list[dict[str, str]], nvim.lua("return _G.offered"))
        assert offered[0]["prompt"].startswith("turn.maxRequests = 7  (setup())")


def test_config_typed_in_the_chat_opens_the_list(bed: Bed) -> None:
    with bed.nvim(FILE) as nvim:
        nvim.lua(_CHOOSE, [])
        nvim.command("North ask /config")
        nvim.until("_G.offered and #_G.offered > 0")
        offered = cast(list[dict[str, str]], nvim.lua("return _G.offered"))
        assert offered[0]["prompt"] == "North: settings"
