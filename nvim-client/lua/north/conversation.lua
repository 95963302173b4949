---What the user does with the conversation that is meant: one of those that are open, see `north.live`.
local attachments = require("north.attachments")
local attention = require("north.attention")
local chat = require("north.chat")
local compat = require("north.compat")
local connection = require("north.connection")
local greeting = require("north.greeting")
local history = require("north.history")
local keymaps = require("north.keymaps")
local layout = require("north.layout")
local live = require("north.live")
local messages = require("north.messages")
local opening = require("north.opening")
local options = require("north.options")
local permission = require("north.permission")
local prompt = require("north.prompt")
local prompts = require("north.prompts")
local running = require("north.running")
local server = require("north.server")
local state = require("north.state")
local steering = require("north.steering")
local summaries = require("north.summaries")
local terminals = require("north.terminals")
local todo = require("north.todo")
local unsent = require("north.unsent")
local work = require("north.work")

local M = {}

---@class north.Selection
---@field uri string
---@field text string
---@field label string how the chat names it, such as hello.py:3-5
---@field first? integer its first line
---@field last? integer

M.open, M.begin, M.toggle, M.zoom = opening.open, opening.begin, opening.toggle, opening.zoom
M.with_server = opening.with_server

keymaps.attach()
chat.set_words(greeting.lines, greeting.facts)
attachments.on_change(prompt.show)
prompt.set({
  send = function(text)
    history.reset(prompt.buffer(), text)
    M.ask(text)
  end,
  nothing = function()
    if permission.count() > 0 then
      M.review()
    end
  end,
  hint = keymaps.hint,
})

---Go on here with a conversation that another North has open.
function M.take_over()
  if not state.elsewhere then
    messages.tell("North: this conversation is not open elsewhere", vim.log.levels.INFO)
    return
  end
  state.taking = true
  state.show()
  state.request("_north/sessions/takeOver", { sessionId = state.session_id }, function(error)
    state.taking = false
    if error then
      chat.add_notice(error.message, "error")
    end
    state.show()
  end)
end

---@param text string
---@param attached north.Attachment[]
local function send(text, attached)
  local blocks, shown = { { type = "text", text = text } }, text
  for index, one in ipairs(attached) do
    table.insert(blocks, one.block)
    shown = ("%s%s[%s]"):format(shown, index == 1 and "\n\n" or " ", one.label)
  end
  connection.when_ready(function()
    if state.elsewhere then -- the server would refuse it
      local words = state.elsewhere.leaving and "send it when what ran before is finished"
        or ":North takeover continues the conversation here"
      chat.add_notice(("Not sent, since this conversation is open elsewhere: %s."):format(words), "warning")
      unsent.take_back({ { text = text, attached = attached } })
      return
    end
    prompts.send({ blocks = blocks, text = text, shown = shown, visible = false, attached = attached })
  end, text, attached)
end

---@param text string
---@param selection? north.Selection
function M.ask(text, selection)
  compat.validate("text", text, "string")
  compat.validate("selection", selection, "table", true)
  text = vim.trim(text)
  if text == "" then
    messages.tell("North: usage: :North ask <text>", vim.log.levels.WARN)
    return
  end
  attention.reset()
  M.open(false)
  local attached = attachments.take()
  if selection then
    local resource = { uri = selection.uri, text = selection.text }
    table.insert(attached, 1, { label = selection.label, block = { type = "resource", resource = resource } })
  end
  send(text, attached)
end

---Send words as they are, without what is attached to the next prompt.
---@param text string
function M.say(text)
  attention.reset()
  send(text, {})
end

---Stop the running turn and give up the prompts that wait.
function M.stop()
  local client, waiting = state.client(), state.waiting
  state.waiting = {}
  unsent.take_back(waiting)
  if #waiting > 0 then
    state.show()
  end
  local finishing = state.elsewhere ~= nil and state.elsewhere.leaving
  if not client or (#state.prompts == 0 and state.asked == 0 and not finishing) then
    if #waiting == 0 then
      messages.tell("North: nothing is running", vim.log.levels.INFO)
    end
    return
  end
  prompts.stop()
  compat.call(client, "notify", "session/cancel", { sessionId = state.session_id })
  permission.withdraw_all()
end

---Stop what runs; where nothing does, only end typing.
function M.interrupt()
  vim.cmd.stopinsert()
  if #state.prompts > 0 or #state.waiting > 0 or state.asked > 0 then
    M.stop()
  end
end

---Say something to the turn that runs, at its next step; a prompt of its own where no turn takes it.
---@param text string
function M.steer(text)
  compat.validate("text", text, "string")
  text = vim.trim(text)
  if text == "" or #state.prompts == 0 then
    M.ask(text)
    return
  end
  steering.steer(text, function(words)
    send(words, {}) -- what is attached now is for what is typed now
  end)
end

---One of North's own requests about this conversation.
---@type north.Ask
function M.ask_server(method, params, on_answer)
  connection.when_ready(function()
    state.request(method, vim.tbl_extend("error", { sessionId = state.session_id }, params), on_answer)
  end)
end

---End the wait before the model is asked again.
---@param now boolean by asking it now, or by giving up
function M.end_wait(now)
  M.ask_server(now and "_north/retry/now" or "_north/retry/abort", {}, function(error, result)
    if error then
      messages.tell("North: " .. error.message, vim.log.levels.ERROR)
    elseif not (result and result.ok) then
      messages.tell("North: no retry is pending", vim.log.levels.INFO)
    end
  end)
end

---What going back and copies need: see `north.rewind`.
---@return north.Places
function M.places()
  return {
    ask = M.ask_server,
    ask_long = function(method, params, on_answer)
      connection.when_ready(function()
        local switches = state.switches
        state.asked = state.asked + 1
        M.ask_server(method, params, function(error, result)
          state.asked = state.switches == switches and state.asked - 1 or state.asked
          on_answer(error, result)
        end)
      end)
    end,
    root = function()
      return state.root
    end,
    restore = function(text)
      M.open(true)
      prompt.restore(text)
    end,
    show = M.show,
  }
end

---Take what is typed into the window to type in.
---@param text string
function M.draft(text)
  M.open(true)
  prompt.restore(text)
end

---@param mode string
function M.set_mode(mode)
  compat.validate("mode", mode, "string")
  M.open(false)
  connection.when_ready(function()
    state.request("session/set_mode", { sessionId = state.session_id, modeId = mode }, function(error)
      if error then
        messages.tell("North: " .. error.message, vim.log.levels.ERROR)
      else
        state.mode = mode
        state.show()
      end
    end)
  end)
end

---Run an action with the id of the conversation that is shown, and the project's folder.
---@param action fun(id: string, root: string)
function M.with_session(action)
  connection.when_ready(function()
    action(state.session_id, state.root)
  end)
end

---The open conversation with this id.
---@param id string
---@return north.Live?
function M.open_with(id)
  return live.find(function()
    return state.session_id == id
  end)
end

---Leave the conversation; returns its id. What runs in it is stopped, what waits to be sent goes into the input.
---@param is_heard boolean whether the server's answers are heard
---@param following? string the one to show next
---@return string?
local function leave(is_heard, following)
  local old = state.session_id
  permission.withdraw_all()
  terminals.end_all() -- the server cannot: its conversation is not open here any more
  local left = prompts.untaken(state.cut)
  vim.list_extend(left, prompts.leave(is_heard))
  vim.list_extend(left, steering.let_go())
  unsent.take_back(vim.list_extend(left, state.waiting))
  state.cut, state.waiting, state.held, state.replacing = {}, {}, nil, false
  state.session_id, state.mode, state.ending, state.elsewhere = following, nil, nil, nil
  state.title, state.first, state.previous, state.agreed = nil, nil, nil, nil
  state.switches, state.taking, state.asked = state.switches + 1, false, 0
  if old and state.root then
    running.note(state.root, old, false)
  end
  chat.clear()
  options.clear()
  summaries.clear()
  todo.clear()
  work.clear()
  return old
end

---Show a stored conversation of this project.
---@param id string
---@param after? fun() called once it is shown
function M.show(id, after)
  connection.when_ready(function()
    local old = leave(true, id)
    if after then
      table.insert(state.waiting, { run = after })
    end
    if old and old ~= id then
      state.request("session/close", { sessionId = old }, function() end)
    end
    connection.open_session()
    state.show()
  end)
end

---Put another conversation in place of the one that is shown, of another project, too.
---@param id? string a stored one, or none for a new one
---@param root string
---@param agreed? boolean the user wants it to go on in this folder, although it is about another one
---@param stays? boolean the user has gone on, and is not taken to it
local function replace(id, root, agreed, stays)
  local client = state.client()
  local stays_there = client ~= nil and state.phase == "ready" and root == state.root
  local old = leave(stays_there, id)
  state.agreed = agreed
  M.open(not stays)
  if client and stays_there then
    if old then
      compat.call(client, "request", "session/close", { sessionId = old }, function() end)
    end
    connection.open_session()
  elseif state.phase ~= "starting" or root ~= state.root then
    connection.leave_server()
    state.root = root
    connection.start()
  end -- else it is opened in place of the one that is being opened
  state.show()
end

---Begin a new conversation; what runs in the old one is stopped.
function M.new()
  replace(nil, vim.bo.buftype ~= "" and state.root or server.root())
end

---Go to an open conversation.
---@param one north.Live
function M.go_to(one)
  live.with(one, function()
    M.open(true)
    permission.arrive()
  end)
end

---Begin a conversation of its own in a new tab page, or show a stored one there; all others go on.
---@param id? string
---@param cwd? string the folder that it is about
---@param agreed? boolean the user wants it to go on there, although it is about another one
function M.in_tab(id, cwd, agreed)
  local root = cwd and vim.fn.isdirectory(cwd) == 1 and cwd or state.root or server.root()
  local one = id and M.open_with(id)
  if one then
    return M.go_to(one)
  end
  one = live.new()
  vim.cmd(vim.bo.buftype == "" and "tab split" or "tabnew")
  live.claim(one)
  live.with(one, replace, id, root, agreed)
  for _, other in ipairs(live.all()) do
    live.with(other, state.show) -- what it is called has its number now
  end
end

---Close an open conversation: what runs in it is stopped, and it stays stored. What was typed in it, or was not sent, goes into
---the window to type in of the one that is seen then.
---@param one north.Live
function M.close(one)
  local typed, attached ---@type string, north.Attachment[]
  live.with(one, function()
    local buffers = chat.buffers()
    local old = leave(false)
    if old then
      state.request("session/close", { sessionId = old }, function() end)
    end
    connection.leave_server()
    state.phase = "stopped"
    for _, buffer in pairs(buffers) do
      for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
        layout.close_window(window)
      end
    end
    live.close(one)
    typed = vim.trim(table.concat(vim.api.nvim_buf_get_lines(buffers.prompt, 0, -1, true), "\n"))
    attached = attachments.take()
    for _, buffer in pairs(buffers) do
      pcall(vim.api.nvim_buf_delete, buffer, { force = true })
    end
  end)
  if typed ~= "" then
    live.with(live.here(), unsent.take_back, { { text = typed, attached = attached } })
  end
  for _, other in ipairs(live.all()) do
    live.with(other, state.show)
  end
end

---Show a stored conversation; what runs in the one that is shown is stopped, if the user agrees.
---@param id string
---@param cwd string the folder that it is about
---@param agreed? boolean the user wants it to go on there, although it is about another one
---@param stays? boolean the user has gone on, and is not taken to it
function M.switch(id, cwd, agreed, stays)
  compat.validate("id", id, "string")
  compat.validate("cwd", cwd, "string")
  local one = M.open_with(id)
  if one and stays then
    messages.tell(("North: it is open already, as %s (:North live)"):format(live.with(one, live.name)), vim.log.levels.INFO)
    return
  elseif one then
    return M.go_to(one)
  end
  if vim.fn.isdirectory(cwd) == 0 then
    cwd = state.root or server.root() -- it has moved, or is gone
  end
  if #state.prompts == 0 then
    return replace(id, cwd, agreed, stays)
  end
  local stop, beside = "Stop the turn and show the other conversation", "Show the other one in a tab page of its own"
  local options = { prompt = "A turn runs in the conversation that is shown", format_item = tostring }
  live.select({ "Let it run", stop, beside }, options, function(choice)
    if choice == stop then
      replace(id, cwd, agreed)
    elseif choice == beside then
      M.in_tab(id, cwd, agreed)
    end
  end)
end

---Show the question that waits, in another conversation where none does in this one.
---@param style? "tab"|"inline" for an edit; else as it is set up
function M.review(style)
  local asking = permission.count() == 0 and live.find(function()
    return permission.count() > 0
  end)
  if asking then
    M.go_to(asking)
    live.with(asking, permission.review, style)
  else
    permission.review(style)
  end
end

return M
