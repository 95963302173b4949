---The conversation that is meant (see `north.live`): how it stands, and requests about it.
local chat = require("north.chat")
local compat = require("north.compat")
local elsewhere = require("north.elsewhere")
local events = require("north.events")
local live = require("north.live")
local options = require("north.options")
local permission = require("north.permission")
local running = require("north.running")
local todo = require("north.todo")
local work = require("north.work")

---@class north.Prompt
---@field blocks table[]
---@field text string
---@field shown string what the chat shows
---@field visible boolean whether the chat shows it already
---@field stopped? integer the user has stopped it, as which of all
---@field begun? boolean something of its answer has come
---@field taken? boolean its turn has begun
---@field withdrawn? boolean the user has taken it back
---@field attached? north.Attachment[] what went along

---@class north.Waiting
---@field run fun()
---@field text? string the prompt's, to be shown when it cannot be sent
---@field attached? north.Attachment[] what was to go along with it

---@class north.State
---@field phase "stopped"|"starting"|"ready"
---@field root? string
---@field client_id? integer
---@field session_id? string
---@field agreed? boolean the stored one that is to be loaded goes on in this folder, although it is about another one
---@field mode? string
---@field prompts north.Prompt[] sent and not answered, the running one first
---@field cut north.Prompt[] the same of the server that ended, until it is known which of them it had
---@field steers north.Unsent[] words for the turn that runs that are not answered
---@field returned north.Unsent[] those that came back as the turn was stopped: the server tells of them once more
---@field left north.Prompt[] those of a conversation that has been left, until they are answered
---@field given_up north.Prompt[] stopped, and no part of a conversation: they come back once all that was stopped is answered
---@field previous? string the words of the prompt that was answered last
---@field waiting north.Waiting[] what is to be done when the conversation is ready
---@field held? table what waits goes on waiting, until it is known which conversation is to be shown
---@field switches integer how often another conversation has taken the place of the one before
---@field restarts integer[] when the server was started again
---@field ending? string how the server ended, while the conversation is loaded again
---@field replacing boolean whether the next update replaces what the chat shows
---@field elsewhere? north.Holder another North that has it open
---@field taking boolean whether it is being taken over
---@field asked integer requests that take long and can be stopped, beside prompts
---@field replayed string? the last of the user's messages that were loaded
---@field wanted? fun() shows the conversation that a slash command asked for, or closes this one, once that is answered
---@field title? string what the server calls it
---@field first? string the first of the user's messages
---@field told? string what the last event told

---@type fun(): north.State
local own = live.keep("state", function()
  return {
    phase = "stopped",
    prompts = {},
    cut = {},
    steers = {},
    returned = {},
    left = {},
    given_up = {},
    waiting = {},
    switches = 0,
    restarts = {},
    replacing = false,
    taking = false,
    asked = 0,
  }
end)

---@class north.StateModule : north.State
local M = {}

---What the winbar's right end says: who answers, how full its window is, and what is not asked about.
---@return north.Fact[]
local function facts()
  local parts = {}
  ---@param words string?
  ---@param spare integer
  local function add(words, spare)
    if words then
      parts[#parts + 1] = { text = words, spare = spare }
    end
  end
  local unasked, model, usage = options.unasked(), options.short_model(), options.usage_words()
  add(#unasked > 0 and ("%%#NorthWarning#%s without asking%%*"):format(table.concat(unasked, " and ")) or nil, 0)
  add(model and (model:gsub("%%", "%%%%")), 2)
  add(usage and (usage:gsub("%%", "%%%%")), 1)
  return parts
end

---@return string[] the texts of the prompts that wait: for the server, or for the end of the turn
local function queued()
  local texts = {}
  for _, item in ipairs(M.waiting) do
    texts[#texts + 1] = item.text
  end
  for index = 2, #M.prompts do
    if not M.prompts[index].withdrawn then
      texts[#texts + 1] = M.prompts[index].text
    end
  end
  return texts
end

---Show how the conversation stands.
function M.show()
  local parts = { live.name(), M.mode }
  if M.elsewhere then
    parts[#parts + 1] = elsewhere.words(M.elsewhere, M.taking)
  elseif M.phase == "starting" then
    parts[#parts + 1] = "starting"
  elseif #M.prompts > 0 then
    parts[#parts + 1] = permission.count() > 0 and "asks (:North review)" or "working"
  end
  if #M.prompts > 1 then
    parts[#parts + 1] = ("%d queued"):format(#M.prompts - 1)
  end
  parts[#parts + 1] = todo.counts()
  parts[#parts + 1] = work.words()
  if M.root and M.session_id and M.phase == "ready" then
    local works = M.elsewhere == nil and #M.prompts > 0 or M.elsewhere ~= nil and M.elsewhere.leaving
    running.note(M.root, M.session_id, works)
  end
  chat.set_waiting(queued())
  local right = facts()
  chat.set_state(table.concat(parts, " · "), right)
  for _, fact in ipairs(right) do
    parts[#parts + 1] = fact.text
  end
  local now = table.concat(parts, "|")
  if now ~= M.told then
    M.told = now
    events.fire("Changed")
  end
end

---@return vim.lsp.Client?
function M.client()
  return M.client_id and vim.lsp.get_client_by_id(M.client_id) or nil
end

---@param method string
---@param params table
---@param on_answer fun(error: table?, result: table?)
function M.request(method, params, on_answer)
  local connection = M.client()
  if not connection then
    on_answer({ message = "the server is not running" })
    return
  end
  local client_id = connection.id
  compat.call(
    connection,
    "request",
    method,
    params,
    live.bind(function(error, result)
      if client_id == M.client_id then
        on_answer(error, result)
      end
    end)
  )
end

-- What is none of the functions above is the present conversation's: `state.mode` reads it, and may be set.
return setmetatable(M, {
  __index = function(_, name)
    return own()[name]
  end,
  __newindex = function(_, name, value)
    own()[name] = value
  end,
})
