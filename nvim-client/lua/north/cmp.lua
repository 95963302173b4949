---A source for nvim-cmp: `require("cmp").register_source("north", require("north.cmp").new())`.
local blink = require("north.blink")
local compat = require("north.compat")
local completion = require("north.completion")

local M = {}
M.__index = M

---@return table source
function M.new()
  return setmetatable({}, M)
end

---@return boolean
function M:is_available()
  return vim.api.nvim_buf_get_name(0) == "north://prompt"
end

---@return string[]
function M:get_trigger_characters()
  return { "/", "@" }
end

---@return string
function M:get_keyword_pattern()
  return [=[[/@][^[:blank:]@`"]*]=]
end

---@param params { context: { cursor_before_line: string, cursor: { row: integer, line: integer } } }
---@param callback fun(answer: table)
function M:complete(params, callback)
  local before, cursor = params.context.cursor_before_line, params.context.cursor
  completion.find(before, cursor.row == 1, function(at, rows)
    local first = compat.units(before, "utf-16", math.max(at, 0))
    local last = compat.units(before, "utf-16")
    callback({ isIncomplete = true, items = at >= 0 and blink.items(rows, cursor.line, first, last) or {} })
  end)
end

return M
