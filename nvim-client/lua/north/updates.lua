---What the server tells and asks about the conversation, shown in the chat.
local chat = require("north.chat")
local completion = require("north.completion")
local elsewhere = require("north.elsewhere")
local events = require("north.events")
local options = require("north.options")
local permission = require("north.permission")
local prompts = require("north.prompts")
local rewind = require("north.rewind")
local saving = require("north.saving")
local settings = require("north.settings")
local state = require("north.state")
local summaries = require("north.summaries")
local terminals = require("north.terminals")
local todo = require("north.todo")

local M = {}

---The module that needs this one, for what a slash command asks the client to do.
local function conversation()
  return require("north.conversation")
end

---@type table<string, fun(update: table)>
local on_update = {
  user_message_chunk = function(update)
    if update.content.type == "text" then
      state.replayed = update.content.text
      chat.add_user(update.content.text, update.messageId)
    end
  end,
  agent_message_chunk = function(update)
    if update.content.type == "text" then
      chat.add_answer(update.content.text, update.messageId)
    end
  end,
  agent_thought_chunk = function(update)
    if update.content.type == "text" then
      chat.add_thought(update.content.text, update.messageId)
    end
  end,
  tool_call = chat.set_call,
  tool_call_update = function(update)
    chat.set_call(update)
    if update.status == "completed" or update.status == "failed" then
      permission.withdraw(update.toolCallId)
    end
  end,
  current_mode_update = function(update)
    state.mode = update.currentModeId
    state.show()
  end,
  available_commands_update = function(update)
    completion.take_commands(update.availableCommands)
  end,
  config_option_update = function(update)
    options.set(update.configOptions)
    state.show()
  end,
  usage_update = function(update)
    options.set_usage(update)
    state.show()
  end,
  plan = todo.set,
  compaction_update = summaries.show,
  notice = function(update)
    if vim.tbl_get(update, "_meta", "north", "stopped") then
      chat.add_stop()
    else
      chat.add_notice(update.title, update.severity)
    end
  end,
}

---Clear what is shown, where the next update is to take its place.
function M.replace_chat()
  if state.replacing then
    state.replacing = false
    chat.clear()
    summaries.clear()
    todo.clear()
  end
end

---A request that only the server of the conversation that is shown may make.
---@param answer fun(params: table): any, table?
---@return lsp.Handler
local function for_session(answer)
  return function(_, params, context)
    if context.client_id ~= state.client_id then
      return vim.NIL, { code = -32600, message = "this server is not North's any more" }
    end
    return answer(params)
  end
end

---@type table<string, function>
M.handlers = {
  ["_north/languageFeature"] = function(_, params)
    return require("north.language").answer(params)
  end,
  ["_north/saveFiles"] = function(_, params)
    return saving.save(params.files)
  end,
  ["elicitation/create"] = function(_, params, context)
    if context.client_id ~= state.client_id or params.sessionId ~= state.session_id or params.mode ~= "form" then
      return { action = "cancel" }
    end
    vim.schedule(state.show)
    events.fire("Question", { kind = "form", title = params.message })
    local result = permission.fill(params)
    events.fire("Answered", { kind = "form", title = params.message })
    state.show()
    return result
  end,
  ["terminal/create"] = for_session(terminals.create),
  ["terminal/output"] = for_session(terminals.output),
  ["terminal/wait_for_exit"] = for_session(terminals.wait_for_exit),
  ["terminal/kill"] = for_session(terminals.kill),
  ["terminal/release"] = for_session(terminals.release),
  ["session/update"] = function(_, params, context)
    if context.client_id ~= state.client_id or params.sessionId ~= state.session_id then
      return
    end
    local show = on_update[params.update.sessionUpdate]
    if show then
      M.replace_chat()
      show(params.update)
    end
  end,
  ["_north/event"] = function(_, params, context)
    if context.client_id ~= state.client_id or params.sessionId ~= state.session_id then
      return
    end
    if params.event == "transcript_reset" then
      chat.clear() -- all of it follows
      summaries.clear()
      todo.clear()
    end
    if params.event == "open_elsewhere" then
      state.elsewhere = elsewhere.read(params.by)
      state.show()
      for _, prompt in ipairs(params.queued or {}) do
        chat.add_notice("Not sent: " .. prompt.text, "warning")
      end
      if params.unfinished then
        prompts.resume()
      end
    end
    if params.event == "document_wanted" and type(params.path) == "string" then
      vim.schedule(function()
        vim.cmd.split({ args = { params.path }, magic = { file = false, bar = false } })
      end)
    end
    if params.event == "settings_wanted" then
      vim.schedule(function()
        settings.choose(conversation().ask_server, "")
      end)
    end
    if params.event == "conversation_wanted" then
      -- The slash command that wants it is not answered yet: only other turns are worth a question.
      state.wanted = function()
        if type(params.conversationId) == "string" then
          conversation().switch(params.conversationId, params.cwd)
        else
          conversation().new()
        end
      end
      if #state.prompts == 0 then
        vim.schedule(prompts.take_wanted)
      end
    end
    rewind.on_event(conversation().places(), params)
  end,
  ["session/request_permission"] = function(_, params, context)
    if context.client_id ~= state.client_id or params.sessionId ~= state.session_id then
      return { outcome = { outcome = "cancelled" } }
    end
    local call = params.toolCall
    chat.set_call({ toolCallId = call.toolCallId, title = call.title, status = "waiting", content = call.content })
    vim.schedule(state.show)
    local kind = vim.tbl_get(params, "_meta", "north", "question", "kind") or call.kind
    events.fire("Question", { kind = kind, title = call.title })
    local result = permission.request(params)
    events.fire("Answered", { kind = kind, title = call.title })
    if result.outcome.outcome == "selected" then
      -- What comes of it is told by the server; until then the call does not wait for the user any more.
      chat.set_call({ toolCallId = call.toolCallId, status = "pending" })
    end
    state.show()
    return result
  end,
}

return M
