---How the conversation stands, for status lines and the user's own functions.
local M = {}

---@class north.Status
---@field phase "stopped"|"starting"|"ready"
---@field mode? string
---@field model? string
---@field working boolean a turn runs
---@field questions integer edits and commands that wait for the user
---@field queued integer prompts that wait for the end of the turn
---@field unasked string[] what happens without a question: "edits", "commands"
---@field usage? { used: integer, size: integer, cost?: { amount: number, currency: string } }
---@field todo? string such as "todo 2/5"
---@field session_id? string
---@field root? string

---@return north.Status
function M.get()
  -- A status line asks often: before North is used, nothing of it is loaded.
  if not package.loaded["north.state"] then
    return { phase = "stopped", working = false, questions = 0, queued = 0, unasked = {} }
  end
  local state, options = require("north.state"), require("north.options")
  return {
    phase = state.phase,
    mode = state.mode,
    model = options.name_of("model"),
    working = #state.prompts > 0,
    questions = require("north.permission").count(),
    queued = math.max(0, #state.prompts - 1),
    unasked = options.unasked(),
    usage = options.usage(),
    todo = require("north.todo").counts(),
    session_id = state.session_id,
    root = state.root,
  }
end

---One line of it, empty before North is used.
---@return string
function M.line()
  local now = M.get()
  if now.phase == "stopped" then
    return ""
  end
  local parts = { "North " .. (now.mode or "") }
  if now.phase == "starting" then
    parts[#parts + 1] = "starting"
  elseif now.questions > 0 then
    parts[#parts + 1] = now.questions == 1 and "asks you" or ("asks you %d things"):format(now.questions)
  elseif now.working then
    parts[#parts + 1] = "working"
  end
  if now.queued > 0 then
    parts[#parts + 1] = ("%d queued"):format(now.queued)
  end
  parts[#parts + 1] = now.todo
  parts[#parts + 1] = require("north.options").usage_words()
  if #now.unasked > 0 then
    parts[#parts + 1] = table.concat(now.unasked, " and ") .. " without asking"
  end
  return table.concat(parts, " · ")
end

return M
