---The conversation: one at a time, on one server, which is started when it is needed and again when it dies.
local attention = require("north.attention")
local chat = require("north.chat")
local elsewhere = require("north.elsewhere")
local history = require("north.history")
local export = require("north.export")
local login = require("north.login")
local permission = require("north.permission")
local rewind = require("north.rewind")
local running = require("north.running")
local saving = require("north.saving")
local server = require("north.server")
local storage = require("north.storage")
local undo = require("north.undo")

local M = {}

local RESTARTS, RESTART_SECONDS = 3, 60

---@class north.Selection
---@field uri string
---@field text string
---@field label string how the chat names it, such as hello.py:3-5

---@class north.Prompt
---@field blocks table[]
---@field text string
---@field shown string what the chat shows
---@field visible boolean whether the chat shows it already
---@field stopped? boolean

---@class north.Waiting
---@field run fun()
---@field text? string the prompt's, to be shown when it cannot be sent

---@class north.State
---@field phase "stopped"|"starting"|"ready"
---@field root? string
---@field client_id? integer
---@field session_id? string
---@field mode? string
---@field prompts north.Prompt[] sent and not answered, the running one first
---@field waiting north.Waiting[] what is to be done when the conversation is ready
---@field restarts integer[] when the server was started again
---@field ending? string how the server ended, while the conversation is loaded again
---@field replacing boolean whether the next update replaces what the chat shows
---@field elsewhere? north.Holder another North that has it open
---@field taking boolean whether it is being taken over
---@field asked integer requests that take long and can be stopped, beside prompts
---@field replayed string? the last of the user's messages that were loaded
---@field wanted? fun() shows the conversation that a slash command asked for, once that is answered

---@type north.State
local state = { phase = "stopped", prompts = {}, waiting = {}, restarts = {}, replacing = false, taking = false, asked = 0 }

local function show_state()
  local parts = { "North", state.mode }
  if state.elsewhere then
    parts[#parts + 1] = elsewhere.words(state.elsewhere, state.taking)
  elseif state.phase == "starting" then
    parts[#parts + 1] = "starting"
  elseif #state.prompts > 0 then
    parts[#parts + 1] = permission.count() > 0 and "asks you (:North review)" or "working"
  end
  if #state.prompts > 1 then
    parts[#parts + 1] = ("%d queued"):format(#state.prompts - 1)
  end
  if state.root and state.phase == "ready" then
    local works = #state.prompts > 0 or (state.elsewhere and state.elsewhere.leaving)
    running.note(state.root, works and state.session_id or nil)
  end
  chat.set_state(table.concat(parts, " · "))
end

---@return vim.lsp.Client?
local function client()
  return state.client_id and vim.lsp.get_client_by_id(state.client_id) or nil
end

---@param method string
---@param params table
---@param on_answer fun(error: table?, result: table?)
local function request(method, params, on_answer)
  local connection = client()
  if not connection then
    on_answer({ message = "the server is not running" })
    return
  end
  local client_id = connection.id
  connection:request(method, params, function(error, result)
    if client_id == state.client_id then
      on_answer(error, result)
    end
  end)
end

---@param text string
---@param severity? "error"|"warning"
local function notice(text, severity)
  chat.add_notice(text, severity)
end

-- Updates -----------------------------------------------------------------------------------------

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
    show_state()
  end,
  notice = function(update)
    notice(update.title, update.severity)
  end,
}

local function replace_chat()
  if state.replacing then
    state.replacing = false
    chat.clear()
  end
end

---@type fun()
local resume

local function take_wanted()
  local wanted = state.wanted
  state.wanted = nil
  if wanted then
    wanted()
  end
end

local handlers = {
  ["_north/saveFiles"] = function(_, params)
    return saving.save(params.files)
  end,
  ["session/update"] = function(_, params, context)
    if context.client_id ~= state.client_id or params.sessionId ~= state.session_id then
      return
    end
    local show = on_update[params.update.sessionUpdate]
    if show then
      replace_chat()
      show(params.update)
    end
  end,
  ["_north/event"] = function(_, params, context)
    if context.client_id ~= state.client_id or params.sessionId ~= state.session_id then
      return
    end
    if params.event == "transcript_reset" then
      chat.clear() -- all of it follows
    end
    if params.event == "open_elsewhere" then
      state.elsewhere = elsewhere.read(params.by)
      show_state()
      for _, prompt in ipairs(params.queued or {}) do
        notice("Not sent: " .. prompt.text, "warning")
      end
      if params.unfinished then
        resume()
      end
    end
    if params.event == "conversation_wanted" then
      -- The slash command that wants it is not answered yet: only other turns are worth a question.
      state.wanted = function()
        if type(params.conversationId) == "string" then
          M.switch(params.conversationId, params.cwd)
        else
          M.new()
        end
      end
      if #state.prompts == 0 then
        vim.schedule(take_wanted)
      end
    end
    rewind.on_event(M.places(), params)
  end,
  ["session/request_permission"] = function(_, params, context)
    if context.client_id ~= state.client_id or params.sessionId ~= state.session_id then
      return { outcome = { outcome = "cancelled" } }
    end
    local call = params.toolCall
    chat.set_call({ toolCallId = call.toolCallId, title = call.title, status = "waiting", content = call.content })
    vim.schedule(show_state)
    local result = permission.request(params)
    if result.outcome.outcome == "selected" then
      -- What comes of it is told by the server; until then the call does not wait for the user any more.
      chat.set_call({ toolCallId = call.toolCallId, status = "pending" })
    end
    show_state()
    return result
  end,
}

-- Starting and starting again ---------------------------------------------------------------------

---@param session table the result of session/new or session/load
local function ready(session)
  state.phase = "ready"
  state.mode = vim.tbl_get(session, "modes", "currentModeId") or state.mode
  state.elsewhere = elsewhere.read(vim.tbl_get(session, "_meta", "north", "openElsewhere"))
  local waiting = state.waiting
  state.waiting = {}
  for _, item in ipairs(waiting) do
    item.run()
  end
  show_state()
end

---There is no conversation: nothing that waits for one is sent, and the next prompt tries again.
local function give_up()
  local connection = client()
  state.phase, state.client_id = "stopped", nil
  if connection then
    connection:stop()
  end
  for _, item in ipairs(state.waiting) do
    if item.text then
      notice("Not sent: " .. item.text, "warning")
    end
  end
  state.waiting = {}
  show_state()
end

---@param what string
local function failed(what)
  notice(what, "error")
  give_up()
  vim.notify("North: " .. what, vim.log.levels.ERROR)
end

---The window that the server remembers the last conversation of.
---@return string
function M.window_id()
  return "nvim " .. vim.fn.getcwd()
end

---@return table
local function window_meta()
  return { north = { windowId = M.window_id() } }
end

local function new_session()
  request("session/new", { cwd = state.root, mcpServers = {}, _meta = window_meta() }, function(error, result)
    if error or not result then
      failed(("there is no conversation: %s"):format(error and error.message or "no answer"))
      return
    end
    state.session_id = result.sessionId
    ready(result)
  end)
end

---Tell how the conversation stands after the server was started again, and which prompts it never got.
local function tell_of_restart()
  local running = state.prompts[1]
  local kept = running and state.replayed and vim.startswith(vim.trim(state.replayed), vim.trim(running.text))
  if state.ending then
    local words = ("North's server ended (%s) and was started again."):format(state.ending)
    notice(running and kept and words .. " The turn that ran was not finished: ask again to go on." or words, "warning")
  end
  for index, prompt in ipairs(state.prompts) do
    if index > 1 or not kept then
      notice("Not sent: " .. prompt.text, "warning")
    end
  end
  state.prompts, state.ending, state.replayed = {}, nil, nil
end

local function load_session()
  state.replacing, state.replayed = true, nil
  local params = { cwd = state.root, sessionId = state.session_id, mcpServers = {}, _meta = window_meta() }
  request("session/load", params, function(error, result)
    if state.session_id ~= params.sessionId then
      new_session() -- a new conversation was asked for in the meantime
      return
    end
    if error or not result then
      state.replacing, state.session_id = false, nil
      notice(("This conversation could not be loaded again: %s"):format(error and error.message), "error")
      tell_of_restart()
      new_session()
      return
    end
    replace_chat()
    tell_of_restart()
    ready(result)
    if vim.tbl_get(result, "_meta", "north", "unfinished") then
      resume()
    end
  end)
end

local start

---@param client_id integer
---@param code integer
---@param signal integer
local function on_exit(client_id, code, signal)
  if client_id ~= state.client_id then
    return
  end
  local was = state.phase
  state.phase, state.client_id, state.elsewhere = "stopped", nil, nil
  permission.withdraw_all()
  local how = signal ~= 0 and ("signal %d"):format(signal) or ("exit code %d"):format(code)
  if was == "starting" then
    local words = "the server ended before it was ready (%s); see :checkhealth north and %s"
    failed(words:format(how, vim.lsp.log.get_filename()))
    state.prompts = {}
    return
  end
  if code == 0 and signal == 0 and #state.prompts == 0 then
    show_state() -- somebody stopped it; the next prompt starts it again
    return
  end
  local now = os.time()
  state.restarts = vim.tbl_filter(function(time)
    return now - time < RESTART_SECONDS
  end, state.restarts)
  state.ending = how
  if #state.restarts >= RESTARTS then
    local words = "North's server ended again (%s). See :checkhealth north; the next prompt starts it once more."
    notice(words:format(how), "error")
    state.prompts = {}
    show_state()
    return
  end
  table.insert(state.restarts, now)
  notice(("North's server ended (%s); starting it again …"):format(how), "warning")
  start()
end

-- A turn that runs goes on when Neovim is back: its server is told before Neovim has it shut down.
vim.api.nvim_create_autocmd("ExitPre", {
  group = vim.api.nvim_create_augroup("north.leaving", { clear = true }),
  desc = "North ends what it has begun",
  callback = function()
    local connection = client()
    if connection and (#state.prompts > 0 or state.elsewhere) then
      connection:notify("_north/leaving", vim.empty_dict())
    end
  end,
})

start = function()
  state.phase = "starting"
  state.root = state.root or server.root()
  show_state()
  state.client_id = server.start({
    root = state.root,
    handlers = handlers,
    on_exit = on_exit,
    on_ready = function(started)
      if started.id ~= state.client_id then
        return
      end
      if vim.tbl_get(started.server_capabilities, "experimental", "north") == nil then
        failed("this server cannot chat: it is too old, or not North's server. Install a newer north-lsp.")
      elseif state.session_id then
        load_session()
      else
        new_session()
      end
    end,
  })
  if not state.client_id then
    give_up()
  end
end

---Run an action when there is a conversation.
---@param action fun()
---@param text? string the prompt's
local function when_ready(action, text)
  if state.phase == "ready" then
    action()
    return
  end
  table.insert(state.waiting, { run = action, text = text })
  if state.phase == "stopped" then
    start()
  end
end

-- What the user does ------------------------------------------------------------------------------

---@param prompt north.Prompt
local function show_prompt(prompt)
  if not prompt.visible then
    prompt.visible = true
    chat.add_user(prompt.shown)
  end
end

---@param prompt north.Prompt
---@param error table?
---@param result table?
local function answered(prompt, error, result)
  local stop_reason = result and result.stopReason
  if error then
    notice(error.message or "the turn failed", "error")
  elseif stop_reason == "cancelled" then
    notice(prompt.visible and "Stopped." or ("Given up: " .. prompt.text))
  elseif stop_reason ~= "end_turn" then
    notice(("Ended: %s"):format(stop_reason), "warning")
  end
  state.prompts = vim.tbl_filter(function(other)
    return other ~= prompt
  end, state.prompts)
  local following = state.prompts[1]
  if following and not following.stopped then
    show_prompt(following)
  end
  pcall(vim.cmd.checktime)
  show_state()
  take_wanted()
end

---@param prompt north.Prompt
local function send(prompt)
  table.insert(state.prompts, prompt)
  if #state.prompts == 1 then
    show_prompt(prompt)
  end
  local session_id = state.session_id
  -- During a turn it waits: words for the turn itself are steered.
  local meta = { north = { behavior = "followUp" } }
  local params = { sessionId = session_id, prompt = prompt.blocks, _meta = meta }
  request("session/prompt", params, function(error, result)
    if session_id == state.session_id then
      answered(prompt, error, result)
    end
  end)
  show_state()
end

---Go on with the turn that an earlier process left: its question is asked again.
resume = function()
  if #state.prompts > 0 then
    return
  end
  ---@type north.Prompt
  local prompt = { blocks = {}, text = "", shown = "", visible = true }
  table.insert(state.prompts, prompt)
  local session_id = state.session_id
  request("_north/turn/resume", { sessionId = session_id }, function(error, result)
    if session_id == state.session_id then
      answered(prompt, error, result)
    end
  end)
  show_state()
end

---Go on here with a conversation that another North has open.
function M.take_over()
  if not state.elsewhere then
    vim.notify("North: this conversation is not open elsewhere", vim.log.levels.INFO)
    return
  end
  state.taking = true
  show_state()
  request("_north/sessions/takeOver", { sessionId = state.session_id }, function(error)
    state.taking = false
    if error then
      notice(error.message, "error")
    end
    show_state()
  end)
end

---Open the chat; `focus` goes to the window to type in. What was at work when Neovim ended goes on.
---@param focus boolean
function M.open(focus)
  chat.open(function(text)
    history.reset(chat.prompt())
    M.ask(text)
  end, focus)
  if state.phase == "stopped" and not state.session_id then
    local root = state.root or server.root()
    state.session_id = running.of(root)
    if state.session_id then
      state.root = root
      start()
    end
  end
  history.attach(chat.prompt(), M.with_server)
  show_state()
end

---@param text string
---@param selection? north.Selection
function M.ask(text, selection)
  vim.validate("text", text, "string")
  vim.validate("selection", selection, "table", true)
  text = vim.trim(text)
  if text == "" then
    vim.notify("North: what shall it be? :North ask <text>", vim.log.levels.WARN)
    return
  end
  attention.reset()
  M.open(false)
  local blocks = { { type = "text", text = text } }
  local shown = text
  if selection then
    table.insert(blocks, { type = "resource", resource = { uri = selection.uri, text = selection.text } })
    shown = ("%s\n\n[%s]"):format(text, selection.label)
  end
  when_ready(function()
    send({ blocks = blocks, text = text, shown = shown, visible = false })
  end, text)
end

---Stop the running turn and give up the prompts that wait.
function M.stop()
  local connection, waited = client(), #state.waiting > 0
  state.waiting = {}
  local finishing = state.elsewhere ~= nil and state.elsewhere.leaving
  if not connection or (#state.prompts == 0 and state.asked == 0 and not finishing) then
    if not waited then
      vim.notify("North: nothing is running", vim.log.levels.INFO)
    end
    return
  end
  for _, prompt in ipairs(state.prompts) do
    prompt.stopped = true
  end
  connection:notify("session/cancel", { sessionId = state.session_id })
  permission.withdraw_all()
end

---Say something to the turn that runs, at its next step; a prompt of its own where no turn takes it.
---@param text string
function M.steer(text)
  vim.validate("text", text, "string")
  text = vim.trim(text)
  if text == "" or #state.prompts == 0 then
    M.ask(text)
    return
  end
  local running = state.prompts[1]
  local params = { sessionId = state.session_id, prompt = { { type = "text", text = text } } }
  request("_north/steer", params, function(_, result)
    if result and result.delivered then
      if text:find("^[/!]") then
        chat.add_user(text) -- the server shows what it delivers to the model
      end
    elseif running.stopped then
      notice("Not sent: " .. text, "warning")
    else
      M.ask(text)
    end
  end)
end

---One of North's own requests about this conversation.
---@type north.Ask
local function ask_server(method, params, on_answer)
  when_ready(function()
    request(method, vim.tbl_extend("error", { sessionId = state.session_id }, params), on_answer)
  end)
end

---End the wait before the model is asked again.
---@param now boolean by asking it now, or by giving up
function M.end_wait(now)
  ask_server(now and "_north/retry/now" or "_north/retry/abort", {}, function(error, result)
    if error then
      vim.notify("North: " .. error.message, vim.log.levels.ERROR)
    elseif not (result and result.ok) then
      vim.notify("North: nothing is waited for", vim.log.levels.INFO)
    end
  end)
end

---Take applied edits back, or undos: see `north.undo`.
---@param way table
function M.take_back(way)
  undo.take_back(ask_server, way)
end

function M.choose_undo()
  undo.choose(ask_server)
end

---Write the conversation to a file: see `north.export`.
---@param path string "" for a name of North's own
function M.export(path)
  when_ready(function()
    export.write(ask_server, path, state.root, state.session_id)
  end)
end

---Show the conversation as a text.
function M.dump()
  export.show(ask_server)
end

---What going back and copies need: see `north.rewind`.
---@return north.Places
function M.places()
  return {
    ask = ask_server,
    ask_long = function(method, params, on_answer)
      state.asked = state.asked + 1
      ask_server(method, params, function(error, result)
        state.asked = state.asked - 1
        on_answer(error, result)
      end)
    end,
    root = function()
      return state.root
    end,
    restore = function(text)
      M.open(true)
      chat.restore(text)
    end,
    show = M.show,
  }
end

---@param provider string its id, or "" to choose one
function M.login(provider)
  login.login(ask_server, provider)
end

---@param level string the lowest level of the log to show, or "" for everything
function M.show_log(level)
  storage.log(ask_server, level)
end

function M.show_storage()
  storage.storage(ask_server)
end

---@param mode string
function M.set_mode(mode)
  vim.validate("mode", mode, "string")
  M.open(false)
  when_ready(function()
    request("session/set_mode", { sessionId = state.session_id, modeId = mode }, function(error)
      if error then
        vim.notify("North: " .. error.message, vim.log.levels.ERROR)
      else
        state.mode = mode
        show_state()
      end
    end)
  end)
end

---Run an action with the server: what asks it, and the project's folder.
---@param action fun(ask: fun(method: string, params: table, on_answer: fun(error: table?, result: table?)), root: string)
function M.with_server(action)
  when_ready(function()
    action(request, state.root)
  end)
end

---Run an action with the id of the conversation that is shown.
---@param action fun(id: string)
function M.with_session(action)
  when_ready(function()
    action(state.session_id)
  end)
end

---@param id string
---@return boolean
function M.is_shown(id)
  return state.session_id == id
end

---Leave the conversation; returns its id. What runs in it is stopped.
---@param following? string the one to show next
---@return string?
local function leave(following)
  local old = state.session_id
  permission.withdraw_all()
  state.prompts, state.waiting, state.replacing = {}, {}, false
  state.session_id, state.mode, state.ending, state.elsewhere = following, nil, nil, nil
  running.note(root, nil)
  chat.clear()
  return old
end

---Show a stored conversation of this project.
---@param id string
---@param after? fun() called once it is shown
function M.show(id, after)
  when_ready(function()
    local old = leave(id)
    state.phase = "starting"
    if after then
      table.insert(state.waiting, { run = after })
    end
    if old and old ~= id then
      request("session/close", { sessionId = old }, function() end)
    end
    load_session()
    show_state()
  end)
end

---Put another conversation in place of the one that is shown, of another project, too.
---@param id? string a stored one, or none for a new one
---@param root string
local function replace(id, root)
  local old = leave(id)
  M.open(true)
  local connection = client()
  if connection and state.phase == "ready" and root == state.root then
    if old then
      connection:request("session/close", { sessionId = old }, function() end)
    end
    state.phase = "starting"
    if id then
      load_session()
    else
      new_session()
    end
  elseif state.phase ~= "starting" then
    state.client_id = nil -- its end is none of our business any more
    if connection then
      connection:stop()
    end
    state.root = root
    start()
  end
  show_state()
end

---Begin a new conversation; what runs in the old one is stopped.
function M.new()
  replace(nil, vim.bo.buftype ~= "" and state.root or server.root())
end

---Show a stored conversation; what runs in the one that is shown is stopped, if the user agrees.
---@param id string
---@param cwd string the folder that it is about
function M.switch(id, cwd)
  vim.validate("id", id, "string")
  vim.validate("cwd", cwd, "string")
  if state.session_id == id then
    return M.open(true)
  end
  if vim.fn.isdirectory(cwd) == 0 then
    cwd = state.root or server.root() -- it has moved, or is gone
  end
  if #state.prompts == 0 then
    return replace(id, cwd)
  end
  local stop = "Stop the turn and show the other conversation"
  local options = { prompt = "A turn runs in the conversation that is shown", format_item = tostring }
  vim.ui.select({ "Let it run", stop }, options, function(choice)
    if choice == stop then
      replace(id, cwd)
    end
  end)
end

---Show the question that waits.
function M.review()
  permission.review()
end

return M
