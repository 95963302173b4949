---The prompts that wait for their turn: taken back to be edited, removed, sent earlier or later.
local attachments = require("north.attachments")
local live = require("north.live")
local messages = require("north.messages")
local prompt = require("north.prompt")
local prompts = require("north.prompts")
local state = require("north.state")

local M = {}

---@class north.QueuedRow
---@field id string
---@field text string
---@field steers boolean for the turn that runs, so that it has no place among the others
---@field place integer from 0

---@param told table what the server says of its queue
---@return north.QueuedRow[]
local function rows_of(told)
  local rows = {}
  for _, row in ipairs(told.steer or {}) do
    rows[#rows + 1] = { id = row.id, text = row.text, steers = true, place = 0 }
  end
  for index, row in ipairs(told.followUp or {}) do
    rows[#rows + 1] = { id = row.id, text = row.text, steers = false, place = index - 1 }
  end
  return rows
end

---@param method string
---@param params table
---@param on_answer fun(result: table)
local function request(method, params, on_answer)
  params.sessionId = state.session_id
  state.request(method, params, function(error, result)
    if error or not result then
      messages.tell("North: " .. (error and error.message or "no answer"), vim.log.levels.WARN)
    else
      on_answer(result)
    end
  end)
end

---@param row north.QueuedRow
---@param edits boolean
local function withdraw(row, edits)
  local attached = prompts.withdraw(row.text)
  request("_north/queue/withdraw", { id = row.id }, function()
    if edits then
      prompt.restore(row.text)
      attachments.put_back(attached)
    end
  end)
end

---@param row north.QueuedRow
---@param place integer from 0
local function move(row, place)
  request("_north/queue/edit", { id = row.id, position = place }, function(told)
    prompts.order(told.followUp)
  end)
end

---@param row north.QueuedRow
---@param count integer how many wait for the end of the turn
local function act_on(row, count)
  local acts = { "Edit it", "Remove it" }
  if not row.steers and row.place > 0 then
    acts[#acts + 1] = "Send it earlier"
  end
  if not row.steers and row.place < count - 1 then
    acts[#acts + 1] = "Send it later"
  end
  live.select(acts, { prompt = (row.text:gsub("%s+", " ")) }, function(act)
    if act == "Edit it" or act == "Remove it" then
      withdraw(row, act == "Edit it")
    elseif act then
      move(row, row.place + (act == "Send it later" and 1 or -1))
    end
  end)
end

---Choose one of the prompts that wait, and what becomes of it.
function M.choose()
  if not state.session_id then
    messages.tell("North: nothing waits", vim.log.levels.INFO)
    return
  end
  request("_north/queue/list", {}, function(told)
    local rows = rows_of(told)
    if #rows == 0 then
      messages.tell("North: nothing waits", vim.log.levels.INFO)
      return
    end
    local options = {
      prompt = "Prompts that wait",
      format_item = function(row)
        return (row.steers and "for this turn: " or "") .. row.text:gsub("%s+", " ")
      end,
    }
    live.select(rows, options, function(row)
      if row then
        act_on(row, #(told.followUp or {}))
      end
    end)
  end)
end

return M
