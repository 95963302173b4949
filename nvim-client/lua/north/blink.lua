---A source for blink.cmp: `sources.providers.north = { name = "North", module = "north.blink" }`.
local compat = require("north.compat")
local completion = require("north.completion")

local M = {}
M.__index = M

local TEXT, FILE, FOLDER = 1, 17, 19 -- of LSP's CompletionItemKind

---@return table source
function M.new()
  return setmetatable({}, M)
end

---@return boolean
function M:enabled()
  return vim.api.nvim_buf_get_name(0) == "north://prompt"
end

---@return string[]
function M:get_trigger_characters()
  return { "/", "@" }
end

---LSP's items for rows; each takes the place of the whole word, its sign included.
---@param rows table[]
---@param line integer from 0
---@param first integer column from 0
---@param last integer
---@return table[]
function M.items(rows, line, first, last)
  return vim.tbl_map(function(row)
    local range = { start = { line = line, character = first }, ["end"] = { line = line, character = last } }
    return {
      label = row.word,
      kind = row.kind == "d" and FOLDER or row.kind == "f" and FILE or TEXT,
      detail = row.menu ~= "" and row.menu or nil,
      documentation = row.info and row.info ~= "" and { kind = "markdown", value = row.info } or nil,
      filterText = row.word,
      textEdit = { newText = row.word, range = range },
    }
  end, rows)
end

---@param context { line: string, cursor: integer[] } the cursor as |nvim_win_get_cursor()| has it
---@param callback fun(answer: table)
---@return fun()? cancel
function M:get_completions(context, callback)
  local row, column = context.cursor[1], context.cursor[2]
  local before = context.line:sub(1, column)
  return completion.find(before, row == 1, function(at, rows)
    local first = compat.units(before, "utf-16", math.max(at, 0))
    local last = compat.units(before, "utf-16")
    callback({
      is_incomplete_forward = true,
      is_incomplete_backward = true,
      items = at >= 0 and M.items(rows, row - 1, first, last) or {},
    })
  end)
end

return M
