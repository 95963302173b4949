---The server of the conversations of a folder: started when it is needed, and again when it dies.
local chat = require("north.chat")
local compat = require("north.compat")
local elsewhere = require("north.elsewhere")
local events = require("north.events")
local live = require("north.live")
local messages = require("north.messages")
local options = require("north.options")
local permission = require("north.permission")
local prompts = require("north.prompts")
local running = require("north.running")
local server = require("north.server")
local state = require("north.state")
local steering = require("north.steering")
local terminals = require("north.terminals")
local unsent = require("north.unsent")
local updates = require("north.updates")

local M = {}

local RESTARTS, RESTART_SECONDS = 3, 60

---Do what waits for the conversation, until something of it has another one shown, or has to find out which one.
local function go_on()
  local stays = vim.v.exiting == vim.NIL -- a server that is being stopped has no time for it
  while stays and state.phase == "ready" and not state.held and state.waiting[1] do
    table.remove(state.waiting, 1).run()
  end
end

---@param session table the result of session/new or session/load
local function ready(session)
  state.phase = "ready"
  state.mode = vim.tbl_get(session, "modes", "currentModeId") or state.mode
  options.set(session.configOptions)
  state.elsewhere = elsewhere.read(vim.tbl_get(session, "_meta", "north", "openElsewhere"))
  events.fire("Started", { session_id = state.session_id })
  go_on()
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

---Take the words out of what waits for the conversation.
---@return north.Unsent[]
local function take_words()
  local function has_words(item)
    return item.text ~= nil
  end
  local words = vim.tbl_filter(has_words, state.waiting)
  state.waiting = vim.iter(state.waiting):filter(function(item)
    return not has_words(item)
  end):totable()
  return words
end

---Nothing waits for the conversation any more; what was to be sent comes back.
---@param before? north.Unsent[] what was to be sent before that
local function give_back_waiting(before)
  local items = vim.list_extend(before or {}, state.waiting)
  state.waiting, state.held = {}, nil
  unsent.give_back(items)
end

---The conversation is not at work here any more, also for the next Neovim.
local function let_go()
  if state.root and state.session_id then
    running.note(state.root, state.session_id, false)
  end
end

---There is no conversation: nothing that waits for one is sent, and the next prompt tries again.
local function give_up()
  state.phase = "stopped"
  M.leave_server()
  local cut = state.cut
  state.cut, state.ending = {}, nil
  unsent.take_back(prompts.let_go())
  give_back_waiting(prompts.untaken(cut))
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

---The user has gone on to another conversation while one was opened: that one is closed, and the other one opened.
---@param id? string of the one that was opened
local function open_the_other(id)
  if id then
    state.request("session/close", { sessionId = id }, function() end)
  end
  M.open_session()
end

---Begin a conversation.
local function new_session()
  local switches = state.switches
  state.request("session/new", { cwd = state.root, mcpServers = {}, _meta = window_meta() }, function(error, result)
    if state.switches ~= switches and state.session_id then
      return open_the_other(result and result.sessionId)
    end
    if error or not result then
      failed(("there is no conversation: %s"):format(error and error.message or "no answer"))
      return
    end
    state.session_id = result.sessionId
    ready(result)
  end)
end

---Tell how the conversation stands after the server was started again, and which prompts it never got.
---@param queued? table[] what the server says that it did not send
local function tell_of_restart(queued)
  local cut, replayed = state.cut, state.replayed
  local first = cut[1]
  local is_kept = first and replayed and first.begun -- whatever was said after it
  if first and replayed and not is_kept then
    -- Of the same words twice, those that are there may be the ones before.
    is_kept = first.text ~= state.previous and vim.startswith(vim.trim(replayed), vim.trim(first.text))
  end
  if state.ending then
    local words = ("North's server ended (%s) and was started again."):format(state.ending)
    words = is_kept and words .. " The turn that ran was not finished: ask again to continue." or words
    chat.add_notice(words, "warning")
  end
  state.cut, state.ending, state.replayed = {}, nil, nil
  unsent.give_back(vim.list_slice(cut, is_kept and 2 or 1))
  unsent.take_back(unsent.of_server(queued, cut)) -- the server has told of them
end

---Load the conversation that is to be shown.
local function load_session()
  local switches = state.switches
  state.replacing, state.replayed = true, nil
  local params = { cwd = state.root, sessionId = state.session_id, mcpServers = {}, _meta = window_meta() }
  params._meta.north.continuesHere = state.agreed
  state.agreed = nil
  state.request("session/load", params, function(error, result)
    if state.switches ~= switches then
      return open_the_other(result and params.sessionId)
    end
    if error or not result then
      state.replacing, state.session_id = false, nil
      chat.add_notice(("This conversation could not be loaded again: %s"):format(error and error.message), "error")
      unsent.give_back(take_words()) -- they were meant for this one
      tell_of_restart()
      new_session()
      return
    end
    updates.replace_chat()
    tell_of_restart(vim.tbl_get(result, "_meta", "north", "queued"))
    ready(result)
    if vim.tbl_get(result, "_meta", "north", "unfinished") then
      prompts.resume()
    end
  end)
end

---Open the conversation that is to be shown: the stored one, or a new one.
function M.open_session()
  state.phase = "starting"
  if state.session_id then
    load_session()
  else
    new_session()
  end
end

---Let what waits go on waiting until it is known which conversation is to be shown, so that nothing is sent to another.
---@return fun(id?: string, show?: fun()) release shows the one with that id; none where none was found
function M.hold()
  local token = {}
  state.held = token
  return live.bind(function(id, show)
    if state.held ~= token then
      return
    end
    local waiting = state.waiting
    state.held, state.waiting = nil, {}
    local is_shown, problem = pcall(show or function() end)
    state.waiting = vim.list_extend(waiting, state.waiting)
    local comes = is_shown and state.phase ~= "stopped" and (state.phase ~= "ready" or state.session_id == id)
    if not comes then -- they were meant for one that is not shown
      unsent.take_back(take_words())
    end
    go_on()
    state.show()
    if not is_shown then
      error(problem, 0)
    end
  end)
end

---@param code integer
---@param signal integer
local function ended(code, signal)
  local was = state.phase
  state.phase, state.elsewhere, state.asked, state.taking = "stopped", nil, 0, false
  permission.withdraw_all()
  terminals.end_all()
  chat.end_calls("the server ended")
  if state.held then
    give_back_waiting() -- what they were meant for will not be known
  end
  local how = signal ~= 0 and ("signal %d"):format(signal) or ("exit code %d"):format(code)
  local is_idle = #state.prompts == 0
  -- What an earlier one had is still there where this one has not come to load the conversation.
  state.cut = vim.list_extend(state.cut, prompts.cut({ error = ("the server ended (%s)"):format(how) }))
  vim.list_extend(state.cut, steering.let_go())
  if was == "starting" then
    local words = "the server ended before it was ready (%s); see :checkhealth north and %s"
    failed(words:format(how, vim.lsp.log.get_filename()))
    return
  end
  if code == 0 and signal == 0 and is_idle then
    give_back_waiting()
    state.show() -- somebody stopped it; the next prompt starts it again
    return
  end
  local now = os.time()
  state.restarts = vim.tbl_filter(function(time)
    return now - time < RESTART_SECONDS
  end, state.restarts)
  if #state.restarts >= RESTARTS then
    local words = "North's server ended again (%s). See :checkhealth north; the next prompt starts it once more."
    chat.add_notice(words:format(how), "error")
    give_up()
    let_go()
    state.ending = how
    return
  end
  state.ending = how
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
  else
    M.open_session()
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
  if state.phase == "ready" and not state.held then
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
