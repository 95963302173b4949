---The todo list: how far it is, in the chat's winbar, and as Markdown in a float, where it can be edited. What has been
---closed for a while is folded there, so that saving the document keeps it.
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
---@field clear_after number how many seconds what is closed is shown; never hidden if that is negative
---@field closed table<string, number> since when what is closed has been closed, by its text
local own = live.keep("todo", function()
  return { phases = {}, clear_after = -1, closed = {} }
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

---@param text string of a task
---@return boolean
local function is_hidden(text)
  local since = own().closed[text]
  return since ~= nil and own().clear_after >= 0 and vim.uv.now() - since >= own().clear_after * 1000
end

---For 'foldexpr': what is hidden of the document that is shown.
---@param line integer
---@return string
function M.level(line)
  local task = vim.fn.getline(line):match("^%- %[[x%-]%] (.*)$")
  return task and is_hidden(task) and "1" or "0"
end

---For 'foldtext'.
---@return string
function M.folded()
  return ("▸ %d closed"):format(vim.v.foldend - vim.v.foldstart + 1)
end

---Let the windows of the document fold what is hidden now.
---@param buffer integer
local function fold(buffer)
  for _, window in ipairs(buffer >= 0 and vim.fn.win_findbuf(buffer) or {}) do
    for option, value in pairs({
      foldmethod = "expr",
      foldexpr = "v:lua.require'north.todo'.level(v:lnum)",
      foldtext = "v:lua.require'north.todo'.folded()",
      foldlevel = 0,
      foldminlines = 0,
      foldenable = true,
      fillchars = "fold: ",
    }) do
      vim.api.nvim_set_option_value(option, value, { win = window, scope = "local" })
    end
    vim.api.nvim_win_call(window, function()
      vim.cmd("normal! zX")
    end)
  end
end

---@return integer buffer -1 where there is none
local function shown()
  return vim.fn.bufnr(("^%s$"):format(live.buffer_name("todo")))
end

---Keep since when what is closed has been closed, and fold it when it is time.
---@param phases north.Phase[]
local function keep(phases)
  local before, now = own().closed, vim.uv.now()
  own().phases, own().closed = phases, {}
  for _, task in ipairs(tasks()) do
    if CLOSED[task.status] then
      own().closed[task.content] = before[task.content] or now
    end
  end
  if own().clear_after > 0 and not vim.tbl_isempty(own().closed) then
    local again = live.bind(function()
      fold(shown())
    end)
    vim.defer_fn(again, own().clear_after * 1000 + 1)
  end
end

---@type north.Document
local list = {
  name = "todo",
  title = " Todo · :w saves · q closes ",
  get = "_north/todo/get",
  set = "_north/todo/set",
  take = function(result)
    keep(result.phases)
  end,
  lines = lines,
  show = fold,
}

---Take the list as the server tells it.
---@param update table
function M.set(update)
  local told = vim.tbl_get(update, "_meta", "north") or {}
  own().clear_after = told.clearAfterSeconds or -1
  keep(told.phases or {})
  document.refresh(list)
  require("north.state").show() -- which needs this module
end

---There is no list any more: another conversation is shown, or another place of it.
function M.clear()
  own().phases, own().closed = {}, {}
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
