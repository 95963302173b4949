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
---@field work? string such as "clarify: question, changes are held · goal 1/2"
---@field others { working: integer, asking: integer } open conversations beside the one that this tab page shows
---@field session_id? string
---@field root? string

---@return north.Status
function M.get()
  -- A status line asks often: before North is used, nothing of it is loaded.
  if not package.loaded["north.state"] then
    local others = { working = 0, asking = 0 }
    return { phase = "stopped", working = false, questions = 0, queued = 0, unasked = {}, others = others }
  end
  local state, options, live = require("north.state"), require("north.options"), require("north.live")
  local others = { working = 0, asking = 0 }
  for _, one in ipairs(live.all()) do
    live.with(one, function()
      if one ~= live.here() then
        local asks = require("north.permission").count() > 0
        others.asking = others.asking + (asks and 1 or 0)
        others.working = others.working + (not asks and #state.prompts > 0 and 1 or 0)
      end
    end)
  end
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
    work = require("north.work").words(),
    session_id = state.session_id,
    root = state.root,
    others = others,
  }
end

---One line of it, empty before North is used.
---@return string
function M.line()
  local now = M.get()
  if now.phase == "stopped" and now.others.asking + now.others.working == 0 then
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
  for words, count in vim.spairs({ ["%d other asks you"] = now.others.asking, ["%d other works"] = now.others.working }) do
    if count > 0 then
      parts[#parts + 1] = words:format(count)
    end
  end
  parts[#parts + 1] = now.todo
  parts[#parts + 1] = now.work
  parts[#parts + 1] = require("north.options").usage_words()
  if #now.unasked > 0 then
    parts[#parts + 1] = table.concat(now.unasked, " and ") .. " without asking"
  end
  return table.concat(parts, " · ")
end

return M
