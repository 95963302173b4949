---Going back in a conversation and to its other branches; copies of it. What comes back is put into the input.
local live = require("north.live")
local refused = require("north.answers").refused
local messages = require("north.messages")
local undo = require("north.undo")

local M = {}

local REWIND = "_north/sessions/rewind"
local FILTERS = { "default", "no-tools", "user-only", "labeled-only", "all" }
local WAYS = {
  { title = "Conversation and files", what = "both" },
  { title = "Conversation only", what = "conversation" },
  { title = "Files only", what = "files" },
}

---@class north.Places what the conversation offers
---@field ask north.Ask
---@field ask_long north.Ask the same, for what `:North stop` can end
---@field root fun(): string
---@field restore fun(text: string) puts a text into the input
---@field show fun(id: string, after?: fun()) shows a stored conversation

---@class north.Node
---@field id string
---@field depth integer
---@field role? string
---@field text string
---@field label? string
---@field onPath boolean
---@field isLeaf boolean

---@param blocks table[]
---@return string
local function text_of(blocks)
  local texts = {}
  for _, block in ipairs(blocks) do
    if block.type == "text" then
      texts[#texts + 1] = block.text
    end
  end
  return table.concat(texts, "\n\n")
end

---@param node north.Node
---@return string
local function line_of(node)
  local mark = node.isLeaf and "▶ " or node.onPath and "• " or "  "
  local who = node.role == "user" and "You: " or ""
  local label = node.label and (" [%s]"):format(node.label) or ""
  return ("  "):rep(node.depth) .. mark .. who .. node.text .. label
end

---Let the user choose a place of the conversation.
---@param places north.Places
---@param filter string
---@param title string
---@param on_chosen fun(node: north.Node)
local function choose(places, filter, title, on_chosen)
  places.ask("_north/sessions/tree", { filter = filter }, function(error, result)
    if error or not result then
      refused(error)
    elseif #result.nodes == 0 then
      messages.tell("North: there is nothing to go to", vim.log.levels.INFO)
    else
      live.select(result.nodes, { prompt = title, format_item = line_of }, function(node)
        if node then
          on_chosen(node)
        end
      end)
    end
  end)
end

---@class north.Summary what is to be done with what is left behind
---@field summarize? boolean
---@field instructions? string

---@param places north.Places
---@param id string
---@param what string
---@param summary north.Summary
local function go(places, id, what, summary)
  if summary.summarize then
    messages.tell("North: summarizing the branch that you leave; :North stop cancels that", vim.log.levels.INFO)
  end
  local ask = summary.summarize and places.ask_long or places.ask
  ask(REWIND, vim.tbl_extend("error", { entryId = id, what = what }, summary), function(error, result)
    if error or not result then
      refused(error)
      return
    end
    if what ~= "conversation" then
      undo.tell(result)
    end
    local text = text_of(result.prompt)
    if what ~= "files" and text ~= "" then
      places.restore(text)
    end
    undo.decide(result, function(conflicts)
      if conflicts ~= "skip" then
        places.ask(REWIND, { entryId = id, what = "files", conflicts = conflicts }, function(again, restored)
          if again or not restored then
            refused(again)
          else
            undo.tell(restored)
          end
        end)
      end
    end)
  end)
end

---Ask whether what is left behind is summarized, if the user wants to be asked.
---@param planned table
---@param what string
---@param on_chosen fun(summary: north.Summary) not called if the user gives up
local function with_summary(planned, what, on_chosen)
  if not planned.offersSummary or what == "files" then
    return on_chosen({})
  end
  local plain, own = "Summarize", "Summarize, with instructions …"
  local options = { prompt = "What is left behind", format_item = tostring }
  live.select({ "No summary", plain, own }, options, function(choice)
    if choice == own then
      live.input({ prompt = "What the summary should say: " }, function(instructions)
        if instructions then
          local words = vim.trim(instructions)
          on_chosen({ summarize = true, instructions = words ~= "" and words or nil })
        end
      end)
    elseif choice then
      on_chosen(choice == plain and { summarize = true } or {})
    end
  end)
end

---@param places north.Places
---@param node north.Node
local function go_to(places, node)
  places.ask(REWIND, { entryId = node.id, dryRun = true }, function(error, planned)
    if error or not planned then
      refused(error)
      return
    end
    local changed = {}
    for _, file in ipairs(planned.files) do
      if file.outcome ~= "unchanged" then
        changed[#changed + 1] = file.path
      end
    end
    if #changed == 0 then
      with_summary(planned, "conversation", function(summary)
        go(places, node.id, "conversation", summary)
      end)
      return
    end
    local options = {
      prompt = "Changed since: " .. table.concat(changed, ", "),
      format_item = function(way)
        return way.title
      end,
    }
    live.select(WAYS, options, function(way)
      if way then
        with_summary(planned, way.what, function(summary)
          go(places, node.id, way.what, summary)
        end)
      end
    end)
  end)
end

---Go back to before one of the user's messages, whose text is put into the input.
---@param places north.Places
function M.rewind(places)
  choose(places, "user-only", "Go back to before", function(node)
    go_to(places, node)
  end)
end

---Go to any place of the conversation, on any of its branches.
---@param places north.Places
---@param filter string one of `M.filters`, or "" for the usual one
function M.tree(places, filter)
  if filter ~= "" and not vim.list_contains(FILTERS, filter) then
    messages.tell("North: usage: :North tree " .. table.concat(FILTERS, "|"), vim.log.levels.ERROR)
    return
  end
  choose(places, filter ~= "" and filter or "default", "Go to", function(node)
    if not node.isLeaf then
      go_to(places, node)
    end
  end)
end

---Begin another conversation with what came before one of the user's messages.
---@param places north.Places
function M.branch(places)
  choose(places, "user-only", "Branch off before", function(node)
    places.ask("_north/sessions/branch", { entryId = node.id }, function(error, result)
      if error or not result then
        refused(error)
        return
      end
      places.show(result.sessionId, function()
        places.restore(text_of(result.prompt))
      end)
    end)
  end)
end

---Copy the conversation, and go on in the copy.
---@param places north.Places
function M.fork(places)
  places.ask("session/fork", { cwd = places.root(), mcpServers = {} }, function(error, result)
    if error or not result then
      refused(error)
    else
      places.show(result.sessionId)
    end
  end)
end

---What the server says when a slash command has gone somewhere, or has made a copy.
---@param places north.Places
---@param event table
function M.on_event(places, event)
  local text = text_of(event.prompt or {})
  if event.event == "transcript_reset" and text ~= "" then
    places.restore(text)
  elseif event.event == "conversation_copied" then
    places.show(event.conversationId, function()
      if text ~= "" then
        places.restore(text)
      end
    end)
  end
end

M.filters = FILTERS

return M
