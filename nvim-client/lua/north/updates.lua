---What the server tells and asks about the open conversations, shown in their chats.
local attention = require("north.attention")
local chat = require("north.chat")
local completion = require("north.completion")
local elsewhere = require("north.elsewhere")
local events = require("north.events")
local live = require("north.live")
local messages = require("north.messages")
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
local unsent = require("north.unsent")
local work = require("north.work")

local M = {}

---What only a model that answers makes.
local ANSWERS = { agent_message_chunk = true, agent_thought_chunk = true, tool_call = true }

---The module that needs this one, for what a slash command asks the client to do.
local function conversation()
  return require("north.conversation")
end

---@type table<string, fun(update: table)>
local on_update = {
  user_message_chunk = function(update)
    if update.content.type == "text" then
      state.replayed = update.content.text
      state.first = state.first or update.content.text
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
  session_info_update = function(update)
    state.title = type(update.title) == "string" and update.title or state.title
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
    work.clear()
  end
end

---The open conversation that a message of a server is about.
---@param params table
---@param context lsp.HandlerContext
---@return north.Live?
local function of(params, context)
  return live.find(function()
    return context.client_id == state.client_id and params.sessionId == state.session_id
  end)
end

---A request about a conversation that is open. Its handler runs in a coroutine, and may sleep.
---@param answer fun(params: table, context: lsp.HandlerContext): any, table?
---@param otherwise fun(): any, table?
---@return lsp.Handler
local function for_session(answer, otherwise)
  return function(_, params, context)
    local one = of(params, context)
    if not one then
      return otherwise()
    end
    live.enter(one)
    return answer(params, context)
  end
end

---@param answer fun(params: table): any, table?
---@return lsp.Handler
local function for_terminal(answer)
  return for_session(answer, function()
    return vim.NIL, { code = -32600, message = "this conversation is not open any more" }
  end)
end

---@param tell fun(params: table)
---@return lsp.Handler
local function told(tell)
  return function(_, params, context)
    local one = of(params, context)
    if one then
      live.with(one, tell, params)
    end
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
  ["elicitation/create"] = for_session(function(params)
    if params.mode ~= "form" then
      return { action = "cancel" }
    end
    vim.schedule(live.bind(state.show))
    events.fire("Question", { kind = "form", title = params.message })
    local result = permission.fill(params)
    events.fire("Answered", { kind = "form", title = params.message })
    state.show()
    return result
  end, function()
    return { action = "cancel" }
  end),
  ["terminal/create"] = for_terminal(terminals.create),
  ["terminal/output"] = for_terminal(terminals.output),
  ["terminal/wait_for_exit"] = for_terminal(terminals.wait_for_exit),
  ["terminal/kill"] = for_terminal(terminals.kill),
  ["terminal/release"] = for_terminal(terminals.release),
  ["session/update"] = told(function(params)
    local show = on_update[params.update.sessionUpdate]
    if show then
      M.replace_chat()
      show(params.update)
      if ANSWERS[params.update.sessionUpdate] then
        prompts.note_answer()
      end
    end
  end),
  ["_north/event"] = told(function(params)
    if params.event == "transcript_reset" then
      chat.clear() -- all of it follows
      summaries.clear()
      todo.clear()
      work.clear()
    end
    if params.event == "turn_start" then
      prompts.note_turn()
    end
    if params.event == "work_changed" then
      work.set(params)
    end
    if params.event == "open_elsewhere" then
      state.elsewhere = elsewhere.read(params.by)
      state.show()
      unsent.give_back(unsent.of_server(params.queued))
      if params.unfinished then
        prompts.resume()
      end
    end
    if params.event == "document_wanted" and type(params.path) == "string" then
      vim.schedule(live.bind(function()
        if live.is_here() and attention.is_free() and vim.api.nvim_get_mode().mode == "n" then
          vim.cmd.split({ args = { params.path }, magic = { file = false, bar = false } })
        else
          messages.tell(("%s shows you %s"):format(live.name(), params.path), vim.log.levels.INFO)
        end
      end))
    end
    if params.event == "settings_wanted" then
      vim.schedule(live.bind(function()
        settings.choose(conversation().ask_server, "")
      end))
    end
    if params.event == "todo_wanted" then
      vim.schedule(live.bind(function()
        if live.is_here() then
          todo.edit(conversation().ask_server)
        end
      end))
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
        vim.schedule(live.bind(prompts.take_wanted))
      end
    end
    if params.event == "close_wanted" then
      state.wanted = function()
        conversation().close(live.current())
      end
      if #state.prompts == 0 then
        vim.schedule(live.bind(prompts.take_wanted))
      end
    end
    rewind.on_event(conversation().places(), params)
  end),
  ["session/request_permission"] = for_session(function(params, context)
    local call = params.toolCall
    local is_known = chat.has_call(call.toolCallId)
    chat.set_call({ toolCallId = call.toolCallId, title = call.title, status = "waiting", content = call.content })
    vim.schedule(live.bind(state.show))
    local kind = vim.tbl_get(params, "_meta", "north", "question", "kind") or call.kind
    events.fire("Question", { kind = kind, title = call.title })
    local result = permission.request(params)
    events.fire("Answered", { kind = kind, title = call.title })
    local chosen = result.outcome.optionId
    if state.session_id ~= params.sessionId or state.client_id ~= context.client_id then
      return result -- the chat shows another conversation by now, or nothing comes of it any more
    end
    if is_known and chosen then
      -- What comes of it is told by the server; until then the call does not wait for the user any more.
      chat.set_call({ toolCallId = call.toolCallId, status = "pending" })
    elseif not is_known then -- nothing else is told of a question that is no call of the model's
      local option = vim.iter(params.options):find(function(one)
        return one.optionId == chosen
      end)
      local refuses = not option or vim.startswith(option.kind, "reject")
      local title = option and ("%s %s"):format(call.title, option.name) or call.title
      chat.set_call({ toolCallId = call.toolCallId, title = title, status = refuses and "failed" or "completed" })
    end
    state.show()
    return result
  end, function()
    return { outcome = { outcome = "cancelled" } }
  end),
}

return M
