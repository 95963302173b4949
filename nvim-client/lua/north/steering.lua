---Words for the turn that runs, which it takes between two of its steps. Those that it does not take are no turn's.
local chat = require("north.chat")
local prompts = require("north.prompts")
local state = require("north.state")
local unsent = require("north.unsent")

local M = {}

---@class north.Steer : north.Unsent
---@field text string
---@field was_told? boolean the server has told of it as something that it does not send

---Let go of the words that are not answered, since nobody will answer: the server is gone, or the conversation is left.
---@return north.Steer[]
function M.let_go()
  local left = state.steers
  state.steers, state.returned = {}, {}
  return left
end

---Say something to the turn that runs.
---@param text string
---@param say fun(text: string) sends it as a prompt of its own, where no turn takes it
function M.steer(text, say)
  local running = state.prompts[1]
  local one = { text = text }
  table.insert(state.steers, one)
  local params = { sessionId = state.session_id, prompt = { { type = "text", text = text } } }
  state.request("_north/steer", params, function(_, result)
    if not vim.list_contains(state.steers, one) then
      return -- it has been let go
    end
    state.steers = vim.tbl_filter(function(other)
      return other ~= one
    end, state.steers)
    if result and result.delivered then
      if text:find("^[/!]") then
        chat.add_user(text) -- the server shows what it delivers to the model
      end
    elseif prompts.was_withdrawn(text) then
      return
    elseif running.stopped then
      if not one.was_told then
        table.insert(state.returned, one)
      end
      unsent.give_back({ one })
    else
      say(text) -- also where the server refuses them, since the turn has ended meanwhile
    end
  end)
end

return M
