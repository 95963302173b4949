---What is folded in the chat: thinking, and calls that only looked, three and more lines of each.
local M = {}

local EXPRESSION = "v:lua.require'north.folds'.level(v:lnum)"
---Whether Neovim looks at all lines of a fold that changes; 0.10 has to be told.
local LOOKS_AGAIN = vim.fn.has("nvim-0.11") == 1
local is_told = false

---@class north.Fold
---@field key string lines with the same one belong together
---@field label string what the folded lines are called

---@type table<integer, table<integer, north.Fold>> by buffer and line, from 1; lines are only ever added at the end
local folds = {}

---@param buffer integer
function M.clear(buffer)
  folds[buffer] = {}
end

---@param buffer integer
---@param first integer from 1
---@param last integer
---@param key string
---@param label string
function M.add(buffer, first, last, key, label)
  for line = first, last do
    folds[buffer][line] = { key = key, label = label }
  end
  M.changed()
end

---There may be lines behind a fold that was at the end.
function M.changed()
  if LOOKS_AGAIN or is_told then
    return
  end
  is_told = true
  vim.schedule(function()
    is_told = false
    for _, window in ipairs(vim.api.nvim_list_wins()) do
      if vim.wo[window].foldexpr == EXPRESSION then
        vim.wo[window][0].foldmethod = "expr"
      end
    end
  end)
end

---For 'foldexpr'. The first line begins a fold even when it is alone: 'foldminlines' keeps that one open, and what
---follows need not change it.
---@param line integer
---@return string
function M.level(line)
  local here = folds[vim.api.nvim_get_current_buf()] or {}
  local fold, before = here[line], here[line - 1]
  if not fold then
    return "0"
  end
  return before and before.key == fold.key and "1" or ">1"
end

---For 'foldtext': what is folded, how much, and its last line, which is what happens while it streams.
---@return string
function M.text()
  local first, last = vim.v.foldstart, vim.v.foldend
  local lines = vim.api.nvim_buf_get_lines(0, last - 1, last, false)
  local shown = (lines[1] or ""):gsub("^[>%-]%s?", "")
  local here = folds[vim.api.nvim_get_current_buf()] or {}
  local label = here[first] and here[first].label or "lines"
  local failed = #vim.tbl_filter(function(line)
    return vim.startswith(line, "- ✗")
  end, vim.api.nvim_buf_get_lines(0, first - 1, last, false))
  local words = failed > 0 and ("%s, %d failed"):format(label, failed) or label
  return ("▸ %d %s · %s"):format(last - first + 1, words, vim.trim(shown))
end

---Let a window fold what the chat has.
---@param window integer
function M.apply(window)
  for option, value in pairs({
    foldmethod = "expr",
    foldexpr = EXPRESSION,
    foldtext = "v:lua.require'north.folds'.text()",
    foldlevel = 0,
    foldminlines = 2,
    foldenable = true,
    fillchars = "fold: ",
  }) do
    vim.api.nvim_set_option_value(option, value, { win = window, scope = "local" })
  end
end

return M
