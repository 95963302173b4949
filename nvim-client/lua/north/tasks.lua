---The tasks of agents: listed, their conversations read, and those that run cancelled.
local live = require("north.live")
local refused = require("north.answers").refused
local messages = require("north.messages")
local place = require("north.place")
local text_tab = require("north.text_tab")

local M = {}

local RUNS = { queued = true, running = true }
local WORDS = {
  queued = "waiting",
  running = "working",
  unstructured = "done, without a result in its form",
  invalid = "its result does not fit",
  timed_out = "took too long",
  limit = "made too many requests",
}

---@class north.Task
---@field id string
---@field agent string
---@field state string
---@field description? string
---@field action? string
---@field tokens integer

---@param task north.Task
---@return string
local function shown(task)
  local what = task.action or task.description or ""
  local state = WORDS[task.state] or task.state
  return ("%s  %s: %s%s  (%d tokens)"):format(task.id, task.agent, state, what ~= "" and ": " .. what or "", task.tokens)
end

---@param ask north.Ask
---@param task north.Task
local function open(ask, task)
  local open_there = place.stay("the task's conversation")
  ask("_north/tasks/transcript", { taskId = task.id }, function(error, result)
    if error or not result then
      refused(error)
    else
      open_there(function()
        text_tab.open(result.markdown, "markdown")
      end)
    end
  end)
end

---@param ask north.Ask
---@param task north.Task
local function cancel(ask, task)
  ask("_north/tasks/cancel", { taskId = task.id }, function(error, result)
    if error or not result then
      refused(error)
    elseif result.cancelled then
      messages.tell(("North: the task %s is cancelled"):format(task.id))
    else
      messages.tell(("North: the task %s has already ended"):format(task.id))
    end
  end)
end

---List the tasks; what the user chooses is opened, or cancelled if that is wanted of one that runs.
---@param ask north.Ask
function M.choose(ask)
  ask("_north/tasks/list", vim.empty_dict(), function(error, result)
    if error or not result then
      refused(error)
      return
    end
    if #result.tasks == 0 then
      messages.tell("North: no agent has been given a task in this conversation")
      return
    end
    live.select(result.tasks, { prompt = "Tasks of agents", format_item = shown }, function(task)
      if not task then
        return
      end
      if not RUNS[task.state] then
        open(ask, task)
        return
      end
      local acts = { "Open its conversation", "Cancel it" }
      live.select(acts, { prompt = task.id }, function(_, number)
        if number == 1 then
          open(ask, task)
        elseif number == 2 then
          cancel(ask, task)
        end
      end)
    end)
  end)
end

return M
