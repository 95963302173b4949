---Documents of a conversation that the server keeps and the user edits in a float: `:w` gives them to it.
local float = require("north.float")
local live = require("north.live")
local refused = require("north.answers").refused
local messages = require("north.messages")
local place = require("north.place")

local M = {}

---@class north.Document
---@field name string its buffer's
---@field title string the float's
---@field get string what asks the server for it
---@field set string what gives it to the server, as Markdown
---@field take fun(result: table) keeps what either answers
---@field lines fun(): string[] what is kept
---@field show? fun(buffer: integer) called when the float shows it, also anew

---@param one north.Document
---@return integer buffer -1 where there is none
local function find(one)
  return vim.fn.bufnr(("^%s$"):format(live.buffer_name(one.name)))
end

---Show what is kept, unless the user has changed what is shown.
---@param one north.Document
function M.refresh(one)
  local buffer = find(one)
  if buffer < 0 or not vim.api.nvim_buf_is_loaded(buffer) or vim.bo[buffer].modified then
    return
  end
  vim.api.nvim_buf_set_lines(buffer, 0, -1, true, one.lines())
  vim.bo[buffer].modified = false
  vim.b[buffer].north_session = require("north.state").session_id -- which needs this module
  if one.show then
    one.show(buffer)
  end
end

---@param ask north.Ask
---@param one north.Document
---@param buffer integer
local function write(ask, one, buffer)
  if vim.b[buffer].north_session ~= require("north.state").session_id then
    local words = "North: this is of another conversation, so it is not saved. Show that one, or leave it with :edit!"
    messages.tell(words, vim.log.levels.WARN)
    return
  end
  local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, true)
  local tick = vim.api.nvim_buf_get_changedtick(buffer)
  ask(one.set, { markdown = table.concat(lines, "\n") .. "\n" }, function(error, result)
    if error or not result then
      refused(error)
      return
    end
    one.take(result)
    -- What was typed meanwhile stays, and is not saved.
    if vim.api.nvim_buf_is_valid(buffer) and vim.api.nvim_buf_get_changedtick(buffer) == tick then
      vim.bo[buffer].modified = false
      M.refresh(one)
    end
  end)
end

---@param ask north.Ask
---@param one north.Document
---@return integer buffer
local function make(ask, one)
  local buffer = vim.api.nvim_create_buf(false, false)
  vim.api.nvim_buf_set_name(buffer, live.buffer_name(one.name))
  vim.bo[buffer].buftype, vim.bo[buffer].bufhidden, vim.bo[buffer].swapfile = "acwrite", "hide", false
  vim.bo[buffer].filetype = "markdown"
  vim.keymap.set("n", "q", "<cmd>close<cr>", { buffer = buffer, desc = "Close" })
  local events = {
    BufReadCmd = function()
      vim.bo[buffer].modified = false
      M.refresh(one)
    end,
    BufWriteCmd = function()
      write(ask, one, buffer)
    end,
  }
  for name, callback in pairs(events) do
    vim.api.nvim_create_autocmd(name, { buffer = buffer, callback = live.bind(callback) })
  end
  return buffer
end

---Show a document in a float, to be edited there.
---@param ask north.Ask
---@param one north.Document
function M.edit(ask, one)
  local open_there = place.stay("the document")
  ask(one.get, vim.empty_dict(), function(error, result)
    if error or not result then
      refused(error)
      return
    end
    one.take(result)
    local buffer = find(one)
    buffer = buffer >= 0 and buffer or make(ask, one)
    M.refresh(one)
    open_there(function()
      float.open(buffer, one.title)
      if one.show then
        one.show(buffer)
      end
    end)
  end)
end

return M
