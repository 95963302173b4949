---Colours in the chat: Markdown by treesitter, and fenced code of languages that have no parser by Vim's own syntax.
local compat = require("north.compat")

local M = {}

local MOST = 20

---Languages that are called otherwise in a fence.
local ALIASES = {
  bash = "sh", ["c++"] = "cpp", console = "sh", js = "javascript", py = "python", rb = "ruby", rs = "rust",
  shell = "sh", ts = "typescript", yml = "yaml", zsh = "sh",
} -- stylua: ignore

---@param buffer integer
function M.start(buffer)
  vim.b[buffer].north_languages = {}
  if not pcall(vim.treesitter.start, buffer, "markdown") then
    vim.bo[buffer].syntax = "markdown"
  end
end

---Colour the code of a language that begins here.
---@param buffer integer
---@param word string as it stands behind the fence
local function take(buffer, word)
  local language = ALIASES[word:lower()] or word:lower()
  local known = vim.b[buffer].north_languages or {}
  if known[word] or vim.tbl_count(known) >= MOST then
    return
  end
  known[word] = true
  vim.b[buffer].north_languages = known
  if compat.has_parser(vim.treesitter.language.get_lang(language) or language) or #vim.api.nvim_get_runtime_file(("syntax/%s.vim"):format(language), false) == 0 then
    return
  end
  local cluster = "north_" .. language:gsub("%W", "_")
  local region = "syntax region %s_code matchgroup=Comment start=/^\\s*```%s\\>.*$/ end=/^\\s*```\\s*$/ keepend contains=@%s"
  vim.api.nvim_buf_call(buffer, function()
    vim.b.current_syntax = nil -- which the files of a syntax look at
    pcall(vim.cmd, ("silent! syntax include @%s syntax/%s.vim"):format(cluster, language))
    vim.b.current_syntax = nil
    pcall(vim.cmd, ("silent! " .. region):format(cluster, vim.fn.escape(word, "/\\^$.*~[]"), cluster))
    pcall(vim.cmd, "silent! syntax sync minlines=300")
  end)
end

---Look at text that has been added: whether code begins in it.
---@param buffer integer
---@param first integer row from 0
---@param last integer
function M.scan(buffer, first, last)
  for _, line in ipairs(vim.api.nvim_buf_get_lines(buffer, first, last + 1, false)) do
    local word = line:match("^%s*```([%w+#_-]+)")
    if word then
      take(buffer, word)
    end
  end
end

---The code block around a line, without its fences.
---@param buffer integer
---@param row integer from 0
---@return string[]? lines nil where there is none
---@return string? language
function M.block(buffer, row)
  local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
  local first, language
  for index, line in ipairs(lines) do
    local fence = line:match("^%s*```(.*)$")
    if fence and not first then
      first, language = index, vim.trim(fence)
    elseif fence then
      if row + 1 >= first and row + 1 <= index then
        return vim.list_slice(lines, first + 1, index - 1), language
      end
      first = nil
    elseif not first and index > row + 1 then
      return nil
    end
  end
end

return M
