---Colors in the chat: Markdown by treesitter, and fenced code of languages that have no parser by Vim's own syntax.
local compat = require("north.compat")

local M = {}

local MOST = 20

---Languages that are called otherwise in a fence.
local ALIASES = {
  bash = "sh", ["c++"] = "cpp", console = "sh", js = "javascript", py = "python", rb = "ruby", rs = "rust",
  shell = "sh", ts = "typescript", yml = "yaml", zsh = "sh",
} -- stylua: ignore

---Markdown's highlights without what hides whole lines: with that, Neovim looks at every line of a long conversation
---again after each piece that is added. In place of a fence, its language is shown.
---@return string
local function highlights()
  local parts = {}
  for _, file in ipairs(vim.treesitter.query.get_files("markdown", "highlights")) do
    parts[#parts + 1] = table.concat(vim.fn.readfile(file), "\n")
  end
  local whole = table.concat(parts, "\n"):gsub('%(#set! conceal_lines "[^"]*"%)', "")
  return (whole:gsub('(%(language%) @label)%s*%(#set! conceal ""%)', "%1"))
end

---@param buffer integer
---@return boolean
local function has_treesitter(buffer)
  return vim.treesitter.highlighter.active[buffer] ~= nil
end

---Neovim 0.10 looks for code in all of the text after each piece that is added, so it does without treesitter here.
---@param buffer integer
function M.start(buffer)
  vim.b[buffer].north_languages = {}
  local is_started = compat.parses_in_parts
    and pcall(function()
      local parser = assert(vim.treesitter.get_parser(buffer, "markdown"))
      vim.treesitter.highlighter.new(parser, { queries = { markdown = highlights() } })
    end)
  if not is_started then
    vim.bo[buffer].syntax = "markdown"
  end
end

---Color the code of a language that begins here.
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
  local is_parsed = has_treesitter(buffer) and compat.has_parser(vim.treesitter.language.get_lang(language) or language)
  if is_parsed or #vim.api.nvim_get_runtime_file(("syntax/%s.vim"):format(language), false) == 0 then
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
