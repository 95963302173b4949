---The server's settings: listed with where each value comes from, changed and taken back through `vim.ui`.
local live = require("north.live")
local refused = require("north.answers").refused
local compat = require("north.compat")
local messages = require("north.messages")
local state = require("north.state")

local M = {}

---@class north.Setting
---@field key string
---@field text string
---@field value any
---@field origin "default"|"user"|"project"|"editor"|"session"
---@field expects string what it takes, in words
---@field choices any[] all its values, if they are few
---@field needsRestart boolean
---@field project "no"|"stricter"|"yes"

local ORIGINS = {
  default = "default",
  user = "settings file",
  project = "project",
  editor = "setup()",
  session = "this conversation",
}

local PATIENCE_MS = 500

---What was asked for completion.
---@type string[]
M.keys = {}

---A value in a line, as it is typed: a text without quotation marks.
---@param value any
---@return string
local function shown(value)
  if value == nil or value == vim.NIL then
    return "not set"
  end
  return type(value) == "string" and value or vim.json.encode(value)
end

---@param row north.Setting
---@return string
local function line(row)
  return ("%s = %s  (%s)  %s"):format(row.key, shown(row.value), ORIGINS[row.origin] or row.origin, row.text)
end

---@param error table?
---@param row north.Setting?
local function told(error, row)
  if error or not row then
    refused(error)
    return
  end
  local when = row.needsRestart and "; it counts when North is started again" or ""
  local words = "North: %s is %s, from %s%s"
  messages.tell(words:format(row.key, shown(row.value), ORIGINS[row.origin] or row.origin, when), vim.log.levels.INFO)
end

---@param ask north.Ask
---@param row north.Setting
---@param place "user"|"project"|"session"
local function change(ask, row, place)
  local function set(given)
    ask("_north/config/set", vim.tbl_extend("error", { key = row.key, place = place }, given), told)
  end
  if #row.choices > 0 then
    live.select(row.choices, { prompt = row.key, format_item = shown }, function(value)
      if value ~= nil then
        set({ value = value })
      end
    end)
    return
  end
  local prompt = ("%s (%s): "):format(row.key, row.expects)
  live.input({ prompt = prompt, default = row.value ~= vim.NIL and shown(row.value) or "" }, function(typed)
    if typed then
      set({ typed = typed })
    end
  end)
end

---@param ask north.Ask
---@param row north.Setting
---@param files table<string, string>
local function act(ask, row, files)
  local actions = {
    {
      "Change in " .. files.user,
      function()
        change(ask, row, "user")
      end,
    },
  }
  if not row.needsRestart then
    table.insert(actions, {
      "Change for this conversation",
      function()
        change(ask, row, "session")
      end,
    })
  end
  if row.project ~= "no" and files.project then
    local words = row.project == "yes" and "Change for this project" or "Make stricter for this project"
    table.insert(actions, {
      words,
      function()
        change(ask, row, "project")
      end,
    })
  end
  if row.origin ~= "default" and row.origin ~= "editor" then
    table.insert(actions, {
      "Reset: " .. ORIGINS[row.origin],
      function()
        ask("_north/config/reset", { key = row.key, place = row.origin }, told)
      end,
    })
  end
  local options = {
    prompt = line(row),
    format_item = function(action)
      return action[1]
    end,
  }
  live.select(actions, options, function(action)
    if action then
      action[2]()
    end
  end)
end

---Choose one of the settings that have all the words, then what to do about it; what was changed comes first.
---@param ask north.Ask
---@param words string
function M.choose(ask, words)
  compat.validate("words", words, "string")
  ask("_north/config/list", { query = words }, function(error, result)
    if error or not result then
      refused(error)
      return
    end
    local changed, rest = {}, {}
    for _, row in ipairs(result.settings) do
      table.insert(row.origin == "default" and rest or changed, row)
    end
    local rows = vim.list_extend(changed, rest)
    for _, problem in ipairs(result.problems) do
      messages.tell("North: " .. problem, vim.log.levels.WARN)
    end
    if #rows == 0 then
      messages.tell("North: no setting has these words", vim.log.levels.WARN)
    elseif #rows == 1 then
      act(ask, rows[1], result.files)
    else
      live.select(rows, { prompt = "North: settings", format_item = line }, function(row)
        if row then
          act(ask, row, result.files)
        end
      end)
    end
  end)
end

---The settings' names, for completion; empty while there is no server.
---@return string[]
function M.names()
  local client = state.phase == "ready" and state.client() or nil
  if #M.keys == 0 and client then
    local answer = compat.call(client, "request_sync", "_north/config/list", { sessionId = state.session_id }, PATIENCE_MS)
    for _, row in ipairs(vim.tbl_get(answer or {}, "result", "settings") or {}) do
      table.insert(M.keys, row.key)
    end
    table.sort(M.keys)
  end
  return M.keys
end

return M
