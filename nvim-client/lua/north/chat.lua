---The conversation as Markdown: who says what, tool calls in a line each, notices. Windows are `layout`'s business, and
---the buffer to type in is `prompt`'s.
local call_lines = require("north.call_lines")
local code = require("north.code")
local compat = require("north.compat")
local config = require("north.config")
local folds = require("north.folds")
local layout = require("north.layout")
local live = require("north.live")
local messages = require("north.messages")
local outputs = require("north.outputs")
local prompt = require("north.prompt")
local winbar = require("north.winbar")
require("north.highlights")

local M = {}

local namespace = vim.api.nvim_create_namespace("north.chat")
local asides = vim.api.nvim_create_namespace("north.chat.asides")

local ROLES = { user = { heading = "## You", group = "NorthUser" }, north = { heading = "## North", group = "NorthAgent" } }

---@class north.KeptChat
---@field buffer? integer
---@field calls table<string, north.Call>
---@field tail? string what the last text belongs to; text of the same message is appended to it
---@field speaker? "user"|"north" who spoke last
---@field thought? { row: integer, mark: integer? } the thought that is the last text
---@field waiting string[] prompts that wait
---@field state string what the winbar says
---@field facts north.Fact[] what it says at its right end
local own = live.keep("chat", function()
  return { calls = {}, waiting = {}, state = "North", facts = {} }
end)
---@type fun(): [string, string][][] what an empty chat shows
local greet = function()
  return {}
end
---@type fun(role: "user"|"north"): string what is to be known of a turn beside who speaks
local describe = function()
  return ""
end
---@type fun(buffer: integer)[] what is to be done with a new buffer
local on_buffer = {}

---Draw what is no text of the conversation: the first screen while it is empty, and the prompts that wait.
local function draw_asides()
  local buffer = own().buffer --[[@as integer]]
  vim.api.nvim_buf_clear_namespace(buffer, asides, 0, -1)
  local last = vim.api.nvim_buf_line_count(buffer) - 1
  local lines = {}
  if last == 0 and vim.api.nvim_buf_get_lines(buffer, 0, 1, true)[1] == "" then
    lines = greet()
  end
  for _, text in ipairs(own().waiting) do
    lines[#lines + 1] = { { "… waits: ", "NorthWaiting" }, { vim.fn.strtrans((text:gsub("%s+", " "))), "NorthFacts" } }
  end
  if #lines > 0 then
    vim.api.nvim_buf_set_extmark(buffer, asides, last, 0, { virt_lines = lines })
  end
end

---Change the chat, which is read-only otherwise; windows that stand at its end stay there.
---@param change fun(buffer: integer)
local function edit(change)
  local buffer = M.buffer()
  local last = vim.api.nvim_buf_line_count(buffer)
  local following = vim.tbl_filter(function(window)
    return vim.api.nvim_win_get_cursor(window)[1] >= last
  end, vim.fn.win_findbuf(buffer))
  vim.bo[buffer].modifiable = true
  change(buffer)
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].modified = false
  local now = vim.api.nvim_buf_line_count(buffer)
  for _, window in ipairs(following) do
    vim.api.nvim_win_set_cursor(window, { now, 0 })
  end
end

vim.api.nvim_create_autocmd("WinResized", {
  group = vim.api.nvim_create_augroup("north.chat", { clear = true }),
  desc = "North: a chat that is at its end stays there when its window gets smaller",
  callback = function()
    for _, window in ipairs(vim.v.event.windows) do
      if vim.api.nvim_win_is_valid(window) then
        local buffer, row = vim.api.nvim_win_get_buf(window), vim.api.nvim_win_get_cursor(window)[1]
        if vim.startswith(vim.api.nvim_buf_get_name(buffer), "north://chat") and row == vim.api.nvim_buf_line_count(buffer) then
          vim.api.nvim_win_call(window, function()
            vim.cmd("normal! zb")
          end)
        end
      end
    end
  end,
})

---Append text as it is, behind what is there.
---@param text string
---@return integer first the row that it begins in, from 0
---@return integer last
local function append(text)
  local first, last = 0, 0
  edit(function(buffer)
    local lines = vim.split(text, "\n", { plain = true })
    first = vim.api.nvim_buf_line_count(buffer) - 1
    last = first + #lines - 1
    local column = #vim.api.nvim_buf_get_lines(buffer, first, first + 1, true)[1]
    vim.api.nvim_buf_set_text(buffer, first, column, first, column, lines)
  end)
  if #vim.api.nvim_buf_get_extmarks(own().buffer, asides, 0, -1, { limit = 1 }) > 0 then
    draw_asides()
  end
  return first, last
end

---Begin a new block, with `blank` empty lines before it unless the chat is empty.
---@param blank integer
local function start_block(blank)
  local buffer = M.buffer()
  local lines = vim.api.nvim_buf_get_lines(buffer, -3, -1, false)
  if #lines == 1 and lines[1] == "" then
    return
  end
  local present = -1 -- the line ends at the end; -1 while the last line has text
  for index = #lines, 1, -1 do
    if lines[index] ~= "" then
      break
    end
    present = present + 1
  end
  if present < blank then
    append(("\n"):rep(blank - present))
    folds.changed()
  end
end

---Say who speaks, where somebody else did before. The mark tells a heading from one that a model wrote.
---@param role "user"|"north"
local function head(role)
  if own().speaker == role and role == "north" then
    return
  end
  own().speaker = role
  start_block(1)
  local row = append(ROLES[role].heading .. "\n\n")
  local words = describe(role)
  vim.api.nvim_buf_set_extmark(M.buffer(), namespace, row, 0, {
    line_hl_group = ROLES[role].group,
    virt_text = words ~= "" and { { words, "NorthFacts" } } or nil,
    virt_text_pos = "right_align",
    hl_mode = "combine",
  })
  own().tail = "head"
end

---The conversation's buffer, made when it is not there.
---@return integer
function M.buffer()
  local here = own()
  local known = here.buffer
  local buffer = prompt.make_buffer(live.buffer_name("chat"), known)
  if buffer ~= known then
    here.buffer = buffer
    here.calls, here.tail, here.speaker, here.thought = {}, nil, nil, nil
    folds.clear(buffer)
    vim.bo[buffer].modifiable = false
    vim.bo[buffer].undolevels = -1
    code.start(buffer)
    draw_asides()
    for _, act in ipairs(on_buffer) do
      act(buffer)
    end
  end
  return buffer
end

---Have something done with the conversation's buffer whenever it is made.
---@param act fun(buffer: integer)
function M.on_buffer(act)
  on_buffer[#on_buffer + 1] = act
end

---What an empty chat shows, and what a turn's heading says beside who speaks.
---@param greeting fun(): [string, string][][]
---@param describing fun(role: "user"|"north"): string
function M.set_words(greeting, describing)
  greet, describe = greeting, describing
end

---@return north.ChatBuffers
function M.buffers()
  return { chat = M.buffer(), prompt = prompt.buffer() }
end

---Open the chat where it is not open in this tab page.
---@param focus boolean whether to go to the window to type in
function M.open(focus)
  compat.validate("focus", focus, "boolean")
  layout.open(M.buffers(), focus)
  M.set_state(own().state, own().facts)
  prompt.show()
end

---Draw the winbar in every window of the chat.
local function draw_bars()
  local here = own()
  for _, window in ipairs(here.buffer and vim.fn.win_findbuf(here.buffer) or {}) do
    vim.wo[window][0].winbar = winbar.text(window, here.state, here.facts)
  end
end

---Say in the chat's winbar what is going on, and at its right end what else is to be known.
---@param what string
---@param facts? north.Fact[]
function M.set_state(what, facts)
  local here = own()
  here.state, here.facts = what, facts or {}
  draw_bars()
  if here.buffer and vim.api.nvim_buf_is_valid(here.buffer) and vim.api.nvim_buf_line_count(here.buffer) == 1 then
    draw_asides()
  end
end

vim.api.nvim_create_autocmd("WinResized", {
  group = vim.api.nvim_create_augroup("north.chat.bars", { clear = true }),
  desc = "North shows in the winbar what there is room for",
  callback = function()
    for _, one in ipairs(live.all()) do
      live.with(one, draw_bars)
    end
  end,
})

---Show which prompts wait for the end of the turn.
---@param texts string[]
function M.set_waiting(texts)
  if #texts == 0 and #own().waiting == 0 then
    return
  end
  own().waiting = texts
  M.buffer()
  draw_asides()
end

---Empty the chat.
function M.clear()
  edit(function(buffer)
    vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
    vim.api.nvim_buf_set_lines(buffer, 0, -1, true, {})
  end)
  local here = own()
  here.calls, here.tail, here.speaker, here.thought = {}, nil, nil, nil
  folds.clear(here.buffer)
  draw_asides()
end

---What the user said.
---@param text string
---@param id? string the message's, for text that comes in pieces
function M.add_user(text, id)
  local key = id and "user " .. id
  if key == nil or own().tail ~= key then
    head("user")
  end
  append(text)
  own().tail = key or ""
end

---A piece of the answer.
---@param text string
---@param id? string the message's
function M.add_answer(text, id)
  local key = "answer " .. (id or "")
  if own().tail ~= key then
    head("north")
    start_block(1)
    text = text:gsub("^\n+", "")
  end
  local first, last = append(text)
  code.scan(M.buffer(), first, last)
  own().tail = key
end

---Give the last lines a color, which what is appended to them does not get.
---@param first integer from 0
---@param last integer
---@param group string
---@param mark? integer the one that they have, to be changed
---@return integer mark
local function color(first, last, group, mark)
  local buffer = M.buffer()
  local length = #vim.api.nvim_buf_get_lines(buffer, last, last + 1, true)[1]
  local shown = { id = mark, end_row = last, end_col = length, hl_group = group, hl_eol = true }
  return vim.api.nvim_buf_set_extmark(buffer, namespace, first, 0, shown)
end

---A piece of the model's thinking, as a quotation that is folded.
---@param text string
---@param id? string the message's
function M.add_thought(text, id)
  local key = "thought " .. (id or "")
  if own().tail ~= key then
    head("north")
    start_block(1)
    own().thought = { row = append("> ") }
  end
  local _, last = append((text:gsub("\n", "\n> ")))
  local here = own().thought or { row = last }
  folds.add(M.buffer(), here.row + 1, last + 1, key, "lines of thinking")
  here.mark = color(here.row, last, "NorthThought", here.mark)
  own().thought, own().tail = here, key
end

---A line of North's or this plugin's own.
---@param text string
---@param severity? string
function M.add_notice(text, severity)
  start_block(1)
  local is_bad = severity == "error" or severity == "warning"
  local first, last = append(("> %s%s"):format(is_bad and "⚠ " or "", (text:gsub("\n", "\n> "))))
  local group = severity == "error" and "NorthError" or is_bad and "NorthWarning" or "NorthNotice"
  color(first, last, group)
  own().tail = ""
end

---That the user stopped the turn, said once: the server tells it, too.
function M.add_stop()
  if own().tail ~= "stop" then
    M.add_notice("Stopped.")
    own().tail = "stop"
  end
end

---@param update table
---@return north.Call
local function new_call(update)
  head("north")
  start_block(own().tail == "call" and 0 or 1)
  local buffer = M.buffer()
  local row = vim.api.nvim_buf_line_count(buffer) - 1
  local call = { mark = 0, title = "", status = "pending", details = {} }
  call.mark = vim.api.nvim_buf_set_extmark(buffer, namespace, row, 0, {})
  own().calls[update.toolCallId] = call
  local group = vim.tbl_get(update, "_meta", "north", "group")
  if type(group) == "string" then
    folds.add(buffer, row + 1, row + 1, "calls " .. group, "calls")
  end
  own().tail = "call"
  return call
end

---Draw a call's line in its place.
---@param call north.Call
local function draw_call(call)
  edit(function(buffer)
    local row = vim.api.nvim_buf_get_extmark_by_id(buffer, namespace, call.mark, {})[1]
    local old = vim.api.nvim_buf_get_lines(buffer, row, row + 1, true)[1]
    local new = call_lines.line(call)
    if old ~= new then
      vim.api.nvim_buf_set_text(buffer, row, 0, row, #old, { new })
      local sign, color_group = call_lines.color(call)
      local shown = { id = call.mark, end_col = math.min(sign, #new), hl_group = color_group }
      vim.api.nvim_buf_set_extmark(buffer, namespace, row, 0, shown)
    end
  end)
end

---A tool call, new or changed: one line, updated in its place.
---@param update table the fields that are known: toolCallId, title, status, content
function M.set_call(update)
  local call = own().calls[update.toolCallId] or new_call(update)
  call.title = update.title or call.title
  call.status = update.status or call.status
  if update.content then
    call.details = call_lines.details(update.content)
  end
  local truncation = vim.tbl_get(update, "_meta", "north", "truncation")
  call.truncation = type(truncation) == "table" and truncation or call.truncation
  call.note = call.status == "failed" and call_lines.reason(update.content or {}) or nil
  draw_call(call)
end

---No call runs or asks any more: who would tell of its end is gone.
---@param why string in a few words
function M.end_calls(why)
  if vim.tbl_isempty(own().calls) then
    return
  end
  M.buffer() -- made anew, it has none of them
  for _, call in pairs(own().calls) do
    if call_lines.is_unfinished(call) then
      call.status, call.note = "failed", why
      draw_call(call)
    end
  end
end

---@param id string
---@return boolean
function M.has_call(id)
  return own().calls[id] ~= nil
end

---The call in a line.
---@param row integer from 0
---@return north.Call?
local function call_at(row)
  for _, call in pairs(own().calls) do
    if vim.api.nvim_buf_get_extmark_by_id(M.buffer(), namespace, call.mark, {})[1] == row then
      return call
    end
  end
end

---Whether the call under the cursor waits for the user.
---@return boolean
function M.is_asked_here()
  local call = call_at(vim.api.nvim_win_get_cursor(0)[1] - 1)
  return call ~= nil and call.status == "waiting"
end

---What the server says of the call under the cursor, if its result was shortened.
---@return north.Truncation?
function M.truncation()
  local call = call_at(vim.api.nvim_win_get_cursor(0)[1] - 1)
  return call and call.truncation
end

---Show what the tool call under the cursor said.
function M.show_details()
  local call = call_at(vim.api.nvim_win_get_cursor(0)[1] - 1)
  local lines = call and vim.list_slice(call.details) or {}
  if call and call.truncation then
    vim.list_extend(lines, outputs.words(call.truncation, config.current.keys.whole))
  end
  if #lines > 0 then
    local options = { border = "rounded", focus_id = "north" }
    if not pcall(vim.lsp.util.open_floating_preview, lines, "markdown", options) then
      vim.lsp.util.open_floating_preview(lines, "", options) -- there is no parser for Markdown
    end
  else
    messages.tell("North: no details here", vim.log.levels.INFO)
  end
end

---Copy the code block under the cursor.
function M.copy_code()
  local lines = code.block(M.buffer(), vim.api.nvim_win_get_cursor(0)[1] - 1)
  if not lines then
    messages.tell("North: there is no code block here", vim.log.levels.INFO)
    return
  end
  vim.fn.setreg('"', lines, "V")
  pcall(vim.fn.setreg, "+", lines, "V")
  messages.tell(("North: copied %d line%s"):format(#lines, #lines == 1 and "" or "s"), vim.log.levels.INFO)
end

---Go to the next or the previous heading of a turn.
---@param step integer
function M.go(step)
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  local marks = vim.api.nvim_buf_get_extmarks(M.buffer(), namespace, 0, -1, { details = true })
  local heads = vim.tbl_filter(function(mark)
    return mark[4].line_hl_group ~= nil
  end, marks)
  for index = step > 0 and 1 or #heads, step > 0 and #heads or 1, step do
    if (heads[index][2] - row) * step > 0 then
      vim.cmd("normal! m'")
      vim.api.nvim_win_set_cursor(0, { heads[index][2] + 1, 0 })
      return
    end
  end
end

return M
