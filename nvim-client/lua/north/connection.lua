---The server of the conversations of a folder: started when it is needed, and again when it dies.
local attachments = require("north.attachments")
local chat = require("north.chat")
local compat = require("north.compat")
local elsewhere = require("north.elsewhere")
local events = require("north.events")
local live = require("north.live")
local messages = require("north.messages")
local options = require("north.options")
local permission = require("north.permission")
local prompts = require("north.prompts")
local server = require("north.server")
local state = require("north.state")
local terminals = require("north.terminals")
local updates = require("north.updates")

local M = {}

local RESTARTS, RESTART_SECONDS = 3, 60

---@param session table the result of session/new or session/load
local function ready(session)
  state.phase = "ready"
  state.mode = vim.tbl_get(session, "modes", "currentModeId") or state.mode
  options.set(session.configOptions)
  state.elsewhere = elsewhere.read(vim.tbl_get(session, "_meta", "north", "openElsewhere"))
  local waiting = state.waiting
  state.waiting = {}
  events.fire("Started", { session_id = state.session_id })
  for _, item in ipairs(waiting) do
    item.run()
  end
  state.show()
end

---The open conversations that a server serves.
---@param client_id integer?
---@return north.Live[]
local function served_by(client_id)
  return vim.tbl_filter(function(one)
    return client_id ~= nil and live.with(one, function()
      return state.client_id
    end) == client_id
  end, live.all())
end

---The conversation needs its server no more, which is stopped unless another one does.
function M.leave_server()
  local connection = state.client()
  state.client_id = nil -- its end is none of our business any more
  if connection and #served_by(connection.id) == 0 then
    compat.call(connection, "stop")
  end
end

---Tell which prompts were not sent; what was to go along with them goes along with the next one.
---@param items (north.Waiting|north.Prompt)[]
local function tell_unsent(items)
  local attached = {}
  for _, item in ipairs(items) do
    if item.text and not item.withdrawn then
      chat.add_notice("Not sent: " .. item.text, "warning")
      vim.list_extend(attached, item.attached or {})
    end
  end
  attachments.put_back(attached)
end

---There is no conversation: nothing that waits for one is sent, and the next prompt tries again.
local function give_up()
  state.phase = "stopped"
  M.leave_server()
  tell_unsent(state.waiting)
  state.waiting = {}
  state.show()
end

---@param what string
local function failed(what)
  chat.add_notice(what, "error")
  give_up()
  messages.tell("North: " .. what, vim.log.levels.ERROR)
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

---Begin a conversation.
function M.new_session()
  state.request("session/new", { cwd = state.root, mcpServers = {}, _meta = window_meta() }, function(error, result)
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
    words = running and kept and words .. " The turn that ran was not finished: ask again to continue." or words
    chat.add_notice(words, "warning")
  end
  tell_unsent(vim.list_slice(state.prompts, kept and 2 or 1))
  state.prompts, state.ending, state.replayed = {}, nil, nil
end

---Load the conversation that is to be shown.
function M.load_session()
  state.replacing, state.replayed = true, nil
  local params = { cwd = state.root, sessionId = state.session_id, mcpServers = {}, _meta = window_meta() }
  params._meta.north.continuesHere = state.agreed
  state.agreed = nil
  state.request("session/load", params, function(error, result)
    if state.session_id ~= params.sessionId then
      M.new_session() -- a new conversation was asked for in the meantime
      return
    end
    if error or not result then
      state.replacing, state.session_id = false, nil
      chat.add_notice(("This conversation could not be loaded again: %s"):format(error and error.message), "error")
      tell_of_restart()
      M.new_session()
      return
    end
    updates.replace_chat()
    tell_of_restart()
    ready(result)
    if vim.tbl_get(result, "_meta", "north", "unfinished") then
      prompts.resume()
    end
  end)
end

---@param code integer
---@param signal integer
local function ended(code, signal)
  local was = state.phase
  state.phase, state.elsewhere, state.asked = "stopped", nil, 0
  permission.withdraw_all()
  terminals.end_all()
  local how = signal ~= 0 and ("signal %d"):format(signal) or ("exit code %d"):format(code)
  if was == "starting" then
    local words = "the server ended before it was ready (%s); see :checkhealth north and %s"
    local unsent = vim.list_slice(state.prompts, 2) -- sent to the one before, which had begun with the first
    state.prompts = {}
    tell_unsent(unsent)
    failed(words:format(how, vim.lsp.log.get_filename()))
    return
  end
  if code == 0 and signal == 0 and #state.prompts == 0 then
    state.show() -- somebody stopped it; the next prompt starts it again
    return
  end
  local now = os.time()
  state.restarts = vim.tbl_filter(function(time)
    return now - time < RESTART_SECONDS
  end, state.restarts)
  state.ending = how
  if #state.restarts >= RESTARTS then
    local words = "North's server ended again (%s). See :checkhealth north; the next prompt starts it once more."
    chat.add_notice(words:format(how), "error")
    tell_unsent(vim.list_slice(state.prompts, 2))
    state.prompts = {}
    state.show()
    return
  end
  table.insert(state.restarts, now)
  chat.add_notice(("North's server ended (%s); starting it again …"):format(how), "warning")
  M.start()
end

---@param client_id integer
---@param code integer
---@param signal integer
local function on_exit(client_id, code, signal)
  local served = served_by(client_id)
  for _, one in ipairs(served) do
    live.with(one, function()
      state.client_id = nil
    end)
  end
  for _, one in ipairs(served) do
    live.with(one, ended, code, signal)
  end
end

---The server is ready: the conversation is loaded, or begins.
local function begin()
  if vim.tbl_get(state.client().server_capabilities, "experimental", "north") == nil then
    failed("this server cannot chat: it is too old, or not North's server. Install a newer north-lsp.")
  elseif state.session_id then
    M.load_session()
  else
    M.new_session()
  end
end

---Whether Neovim comes back to what a server does: a turn that runs, or one that another process has.
---@param client_id integer
---@return boolean
local function is_at_work(client_id)
  return vim.iter(served_by(client_id)):any(function(one)
    return live.with(one, function()
      return #state.prompts > 0 or state.elsewhere ~= nil
    end)
  end)
end

---The server that another open conversation of the same folder has.
---@return vim.lsp.Client?
local function shared()
  local root = state.root
  local one = live.find(function()
    return state.root == root and state.client() ~= nil
  end)
  return one and live.with(one, state.client)
end

---Start the server, unless it is there, and load or begin the conversation on it.
function M.start()
  state.phase = "starting"
  state.root = state.root or server.root()
  state.show()
  local present = shared()
  if present then
    state.client_id = present.id
    if present.initialized then
      begin()
    end
    return
  end
  local problem
  state.client_id, problem = server.start({
    root = state.root,
    handlers = updates.handlers,
    is_at_work = is_at_work,
    on_exit = on_exit,
    on_ready = function(started)
      for _, one in ipairs(served_by(started.id)) do
        live.with(one, begin)
      end
    end,
  })
  if problem then
    failed(problem)
  end
end

---Run an action when there is a conversation.
---@param action fun()
---@param text? string the prompt's
---@param attached? north.Attachment[] what goes along with it
function M.when_ready(action, text, attached)
  if state.phase == "ready" then
    action()
    return
  end
  table.insert(state.waiting, { run = action, text = text, attached = attached })
  if state.phase == "stopped" then
    M.start()
  else
    state.show()
  end
end

return M
