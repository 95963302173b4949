---The todo list: how far it is, in the chat's winbar, and as Markdown in a float, where it can be edited.
local document = require("north.document")
local live = require("north.live")

local M = {}

local MARKS = { pending = " ", in_progress = "/", completed = "x", abandoned = "-" }
local CLOSED = { completed = true, abandoned = true }

---@class north.Task
---@field content string
---@field status string

---@class north.Phase
---@field name string
---@field tasks north.Task[]

---@class north.KeptTodo
---@field phases north.Phase[]
local own = live.keep("todo", function()
  return { phases = {} }
end)

---@return north.Task[]
local function tasks()
  local found = {}
  for _, phase in ipairs(own().phases) do
    vim.list_extend(found, phase.tasks)
  end
  return found
end

---@return string[]
local function lines()
  local found = {}
  for _, phase in ipairs(own().phases) do
    found[#found + 1] = "# " .. phase.name
    for _, task in ipairs(phase.tasks) do
      found[#found + 1] = ("- [%s] %s"):format(MARKS[task.status] or " ", task.content)
    end
    found[#found + 1] = ""
  end
  found[#found] = nil
  return found
end

---@type north.Document
local list = {
  name = "todo",
  title = " Todo · :w saves · q closes ",
  get = "_north/todo/get",
  set = "_north/todo/set",
  take = function(result)
    own().phases = result.phases
  end,
  lines = lines,
}

---Take the list as the server tells it.
---@param update table
function M.set(update)
  own().phases = vim.tbl_get(update, "_meta", "north", "phases") or {}
  document.refresh(list)
  require("north.state").show() -- which needs this module
end

---There is no list any more: another conversation is shown, or another place of it.
function M.clear()
  own().phases = {}
  document.refresh(list)
end

---How much is done, for the winbar.
---@return string? words nil while nothing is open
function M.counts()
  local all, closed = tasks(), 0
  for _, task in ipairs(all) do
    closed = closed + (CLOSED[task.status] and 1 or 0)
  end
  return closed < #all and ("todo %d/%d"):format(closed, #all) or nil
end

---Show the list in a float, to be edited there: `:w` saves it.
---@param ask north.Ask
function M.edit(ask)
  document.edit(ask, list)
end

return M
