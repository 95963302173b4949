---The todo list: how far it is, in the chat's winbar, and as Markdown in a float, where it can be edited.
local live = require("north.live")
local refused = require("north.answers").refused

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
local function document()
  local lines = {}
  for _, phase in ipairs(own().phases) do
    lines[#lines + 1] = "# " .. phase.name
    for _, task in ipairs(phase.tasks) do
      lines[#lines + 1] = ("- [%s] %s"):format(MARKS[task.status] or " ", task.content)
    end
    lines[#lines + 1] = ""
  end
  lines[#lines] = nil
  return lines
end

---Fill the float, unless the user has changed what it shows.
local function refresh()
  local buffer = vim.fn.bufnr(("^%s$"):format(live.buffer_name("todo")))
  if buffer < 0 or not vim.api.nvim_buf_is_loaded(buffer) or vim.bo[buffer].modified then
    return
  end
  vim.api.nvim_buf_set_lines(buffer, 0, -1, true, document())
  vim.bo[buffer].modified = false
  vim.b[buffer].north_session = require("north.state").session_id -- which needs this module
end

---Take the list as the server tells it.
---@param update table
function M.set(update)
  own().phases = vim.tbl_get(update, "_meta", "north", "phases") or {}
  refresh()
  require("north.state").show() -- which needs this module
end

---There is no list any more: another conversation is shown, or another place of it.
function M.clear()
  own().phases = {}
  refresh()
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

---@param ask north.Ask
---@param buffer integer
local function write(ask, buffer)
  if vim.b[buffer].north_session ~= require("north.state").session_id then
    local words = "North: this list is another conversation's, so it is not saved. Show that one, or leave it with :edit!"
    vim.notify(words, vim.log.levels.WARN)
    return
  end
  local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, true)
  local tick = vim.api.nvim_buf_get_changedtick(buffer)
  ask("_north/todo/set", { markdown = table.concat(lines, "\n") .. "\n" }, function(error, result)
    if error or not result then
      refused(error)
      return
    end
    own().phases = result.phases
    -- What was typed meanwhile stays, and is not saved.
    if vim.api.nvim_buf_is_valid(buffer) and vim.api.nvim_buf_get_changedtick(buffer) == tick then
      vim.bo[buffer].modified = false
      refresh()
    end
  end)
end

---Show the list in a float, to be edited there: `:w` saves it.
---@param ask north.Ask
function M.edit(ask)
  ask("_north/todo/get", vim.empty_dict(), function(error, result)
    if error or not result then
      refused(error)
      return
    end
    own().phases = result.phases
    local buffer = vim.fn.bufnr(("^%s$"):format(live.buffer_name("todo")))
    if buffer < 0 then
      buffer = vim.api.nvim_create_buf(false, false)
      vim.api.nvim_buf_set_name(buffer, live.buffer_name("todo"))
      vim.bo[buffer].buftype, vim.bo[buffer].bufhidden, vim.bo[buffer].swapfile = "acwrite", "hide", false
      vim.bo[buffer].filetype = "markdown"
      vim.keymap.set("n", "q", "<cmd>close<cr>", { buffer = buffer, desc = "Close" })
      vim.api.nvim_create_autocmd("BufReadCmd", {
        buffer = buffer,
        callback = live.bind(function()
          vim.bo[buffer].modified = false
          refresh()
        end),
      })
      vim.api.nvim_create_autocmd("BufWriteCmd", {
        buffer = buffer,
        callback = live.bind(function()
          write(ask, buffer)
        end),
      })
    end
    refresh()
    local window = vim.fn.bufwinid(buffer)
    if window >= 0 then
      vim.api.nvim_set_current_win(window)
      return
    end
    local width, height = math.min(80, vim.o.columns - 4), math.max(5, math.min(20, vim.o.lines - 6))
    vim.api.nvim_open_win(buffer, true, {
      relative = "editor",
      width = width,
      height = height,
      row = math.floor((vim.o.lines - height) / 2) - 1,
      col = math.floor((vim.o.columns - width) / 2),
      border = "rounded",
      title = " Todo · :w saves · q closes ",
    })
  end)
end

return M
