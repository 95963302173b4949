---The chat of the conversation that is meant: opened, closed, in a tab page of its own.
local chat = require("north.chat")
local completion = require("north.completion")
local connection = require("north.connection")
local history = require("north.history")
local layout = require("north.layout")
local leftover = require("north.leftover")
local live = require("north.live")
local prompt = require("north.prompt")
local running = require("north.running")
local server = require("north.server")
local state = require("north.state")

local M = {}

---Run an action with the server: what asks it, and the project's folder.
---@param action fun(ask: fun(method: string, params: table, on_answer: fun(error: table?, result: table?)), root: string)
function M.with_server(action)
  connection.when_ready(function()
    action(state.request, state.root)
  end)
end

---Go on with what was at work in this folder when Neovim ended, and is not open: one here, others beside it.
local function resume_running()
  for _, id in ipairs(running.of(state.root)) do
    local is_open = live.find(function()
      return state.session_id == id
    end)
    if not is_open then
      local root = state.root
      live.with(state.session_id and live.new() or live.current(), function()
        state.root, state.session_id = root, id
        connection.start()
      end)
    end
  end
end

---Go to the tab page that shows the conversation; without one it takes the place of what this one shows, which goes on.
local function go_to_tab()
  local one, here = live.current(), live.here()
  if one == here then
    return
  end
  local tab = live.tab_of(one)
  if tab then
    vim.api.nvim_set_current_tabpage(tab)
    return
  end
  live.with(here, function()
    layout.close(chat.buffers())
  end)
  live.claim(one)
end

---Open the chat; `focus` goes to the window to type in. What was at work when Neovim ended goes on.
---@param focus boolean
function M.open(focus)
  state.root = state.root or server.root() -- of the file that one comes from
  if focus then
    go_to_tab()
  end
  if live.is_here() then -- it never opens beside another one that the user has gone to meanwhile
    chat.open(focus)
    live.claim(live.current())
  end
  if state.phase == "stopped" and not state.session_id then
    resume_running()
  end
  history.attach(prompt.buffer(), M.with_server)
  completion.attach(prompt.buffer(), function()
    return { client = state.client(), session_id = state.session_id }
  end)
  if focus then -- else what is attached to it would go along with what is being asked
    leftover.take_back(state.root)
  end
  state.show()
end

---Open the chat, go to the window to type in, and have the server ready by the time that something is typed.
function M.begin()
  M.open(true)
  if state.phase == "stopped" then
    connection.start()
  end
end

---Open the chat, or close it where it is open in this tab page.
function M.toggle()
  if not layout.close(chat.buffers()) then
    M.begin()
  end
end

---The chat in a tab page of its own, and back.
function M.zoom()
  M.open(false)
  layout.zoom(chat.buffers())
  live.claim(live.current())
  chat.open(true)
end

return M
