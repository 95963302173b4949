---Summaries that take the place of the older part of a conversation for the model, and what they replaced.
local chat = require("north.chat")
local live = require("north.live")
local refused = require("north.answers").refused
local messages = require("north.messages")
local place = require("north.place")
local text_tab = require("north.text_tab")

local M = {}

local REPLACED = "_north/sessions/replaced"
local STATUS = { in_progress = "in_progress", completed = "completed", failed = "failed", cancelled = "failed" }

---@class north.Summary
---@field id string
---@field title string

---@class north.KeptSummaries
---@field shown north.Summary[] the oldest first
local own = live.keep("summaries", function()
  return { shown = {} }
end)

---@param tokens integer
---@return string
local function count(tokens)
  return (tostring(tokens):reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^,", ""))
end

---@param update table
---@return string
local function title_of(update)
  local north = vim.tbl_get(update, "_meta", "north") or {}
  if update.status == "completed" and north.reason == "handoff" then
    return "This conversation continues another one, of which the model has a summary"
  elseif update.status == "completed" and north.tokensBefore and north.tokensAfter then
    local numbers = ("%s → %s tokens"):format(count(north.tokensBefore), count(north.tokensAfter))
    return "The conversation up to here was summarized: " .. numbers
  elseif update.status == "completed" then
    return "The conversation up to here was summarized"
  elseif update.status == "cancelled" then
    return "Summarizing was cancelled; the conversation is unchanged"
  elseif update.status == "failed" then
    return update.error or "The conversation could not be summarized"
  elseif (north.written or 0) > 0 then
    return ("The older part is being summarized (%s characters so far)"):format(count(north.written))
  end
  return "The older part is being summarized"
end

---A summary, new or changed: a line like that of a call, whose details are the summary.
---@param update table ACP's `compaction_update`
function M.show(update)
  local title = title_of(update)
  local content
  if type(update.summary) == "table" and #update.summary > 0 then
    content = vim.tbl_map(function(part)
      return { type = "content", content = part }
    end, update.summary)
    local north = vim.tbl_get(update, "_meta", "north") or {}
    for name, files in pairs({ Read = north.read or {}, Changed = north.modified or {} }) do
      if #files > 0 then
        local text = ("\n%s: %s"):format(name, table.concat(files, ", "))
        content[#content + 1] = { type = "content", content = { type = "text", text = text } }
      end
    end
  end
  local call = { toolCallId = "summary:" .. update.compactionId, title = title, status = STATUS[update.status] }
  call.content = content
  chat.set_call(call)
  if update.status == "completed" then
    own().shown = vim.tbl_filter(function(one)
      return one.id ~= update.compactionId
    end, own().shown)
    own().shown[#own().shown + 1] = { id = update.compactionId, title = title }
  end
end

---Forget the summaries of a conversation that is not shown any more.
function M.clear()
  own().shown = {}
end

---Open what a summary replaced, in a buffer that belongs to no file; of several, the user chooses one.
---@param ask north.Ask
function M.replaced(ask)
  if #own().shown == 0 then
    messages.tell("North: nothing in this conversation was summarized", vim.log.levels.INFO)
    return
  end
  local function open(one)
    if not one then
      return
    end
    local open_there = place.stay("what the summary replaced")
    ask(REPLACED, { compactionId = one.id }, function(error, result)
      if error or not result then
        refused(error)
        return
      end
      open_there(function()
        text_tab.open(result.text)
      end)
    end)
  end
  if #own().shown == 1 then
    open(own().shown[1])
    return
  end
  live.select(vim.fn.reverse(vim.deepcopy(own().shown)), {
    prompt = "What a summary replaced",
    format_item = function(one)
      return one.title
    end,
  }, open)
end

return M
