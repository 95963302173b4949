---The chat's two windows: the conversation as Markdown, and below it the one to type in.
local config = require("north.config")
local titles = require("north.titles")

local M = {}

local namespace = vim.api.nvim_create_namespace("north.chat")

---@class north.Call
---@field mark integer its line
---@field title string
---@field status string pending, in_progress, waiting, completed or failed
---@field note? string why it failed, in a line
---@field details string[] what it said, as Markdown

local symbols = { pending = "…", in_progress = "▸", waiting = "?", completed = "✓", failed = "✗" }

---@type { chat?: integer, prompt?: integer }
local buffers = {}
---@type table<string, north.Call>
local calls = {}
---@type string? what the last text belongs to; text of the same message is appended to it
local tail
local state = "North"

---@param name string
---@param buffer integer?
---@return integer
local function make_buffer(name, buffer)
  if buffer and vim.api.nvim_buf_is_valid(buffer) then
    return buffer
  end
  -- One of that name may be left over from a restored session.
  for _, other in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_get_name(other) == name then
      buffer = vim.api.nvim_buf_is_loaded(other) and other or nil
      if not buffer then
        vim.api.nvim_buf_delete(other, { force = true })
      end
    end
  end
  if buffer and vim.api.nvim_buf_is_valid(buffer) then
    vim.bo[buffer].buftype = "nofile"
    vim.bo[buffer].buflisted = false
    vim.bo[buffer].modifiable = true
    vim.api.nvim_buf_set_lines(buffer, 0, -1, true, {})
  else
    buffer = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_name(buffer, name)
  end
  vim.bo[buffer].bufhidden = "hide"
  vim.bo[buffer].swapfile = false
  vim.bo[buffer].filetype = "markdown"
  return buffer
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

---Append text as it is, behind what is there.
---@param text string
local function append(text)
  edit(function(buffer)
    local row = vim.api.nvim_buf_line_count(buffer) - 1
    local column = #vim.api.nvim_buf_get_lines(buffer, row, row + 1, true)[1]
    vim.api.nvim_buf_set_text(buffer, row, column, row, column, vim.split(text, "\n", { plain = true }))
  end)
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
  end
end

---The conversation's buffer, made when it is not there.
---@return integer
function M.buffer()
  local known = buffers.chat
  buffers.chat = make_buffer("north://chat", known)
  if buffers.chat ~= known then
    calls, tail = {}, nil
    vim.bo[buffers.chat].modifiable = false
    vim.keymap.set("n", config.current.keys.details, M.show_details, {
      buffer = buffers.chat,
      desc = "North: what this tool call said",
    })
  end
  return buffers.chat
end

---@param on_send fun(text: string)
local function send(on_send)
  local buffer = buffers.prompt --[[@as integer]]
  local text = vim.trim(table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, true), "\n"))
  vim.cmd.stopinsert()
  if text == "" then
    return
  end
  vim.api.nvim_buf_set_lines(buffer, 0, -1, true, {})
  on_send(text)
end

---@param on_send fun(text: string)
---@return integer
local function prompt_buffer(on_send)
  local known = buffers.prompt
  buffers.prompt = make_buffer("north://prompt", known)
  if buffers.prompt ~= known then
    vim.keymap.set({ "n", "i" }, "<CR>", function()
      if vim.fn.pumvisible() == 1 and vim.fn.complete_info({ "selected" }).selected >= 0 then
        vim.api.nvim_feedkeys(vim.keycode("<C-y>"), "n", false) -- what is chosen in the list
        return
      end
      send(on_send)
    end, { buffer = buffers.prompt, desc = "North: send" })
    vim.keymap.set("i", "<C-j>", "<CR>", { buffer = buffers.prompt, desc = "North: a new line" })
  end
  return buffers.prompt
end

---The buffer to type in; the chat must have been opened.
---@return integer
function M.prompt()
  return buffers.prompt
end

---@param window integer
local function plain_window(window)
  for option, value in pairs({
    number = false,
    relativenumber = false,
    signcolumn = "no",
    foldcolumn = "0",
    wrap = true,
    linebreak = true,
    spell = false,
    list = false,
    winfixwidth = true,
  }) do
    vim.api.nvim_set_option_value(option, value, { win = window, scope = "local" })
  end
end

---Open the chat where it is not open in this tab page.
---@param on_send fun(text: string) called with what the user typed
---@param focus boolean whether to go to the window to type in
function M.open(on_send, focus)
  vim.validate("on_send", on_send, "function")
  vim.validate("focus", focus, "boolean")
  local before = vim.api.nvim_get_current_win()
  local chat, prompt = M.buffer(), prompt_buffer(on_send)
  local chat_window, prompt_window = vim.fn.bufwinid(chat), vim.fn.bufwinid(prompt)
  if chat_window == -1 then
    local width = config.current.width
    width = math.floor(width < 1 and vim.o.columns * width or width)
    chat_window = vim.api.nvim_open_win(chat, false, { split = "right", win = -1, width = math.max(20, width) })
    plain_window(chat_window)
    vim.wo[chat_window][0].conceallevel = 2
    vim.api.nvim_win_set_cursor(chat_window, { vim.api.nvim_buf_line_count(chat), 0 })
  end
  if prompt_window == -1 then
    local height = config.current.prompt_height
    prompt_window = vim.api.nvim_open_win(prompt, false, { split = "below", win = chat_window, height = height })
    plain_window(prompt_window)
    vim.wo[prompt_window][0].winfixheight = true
    vim.wo[prompt_window][0].winbar = " Enter send · C-j new line · :North stop"
  end
  vim.api.nvim_set_current_win(focus and prompt_window or before)
  M.set_state(state)
end

---Put a text into the window to type in, before what is being written there.
---@param text string
function M.restore(text)
  local buffer = buffers.prompt
  if not buffer or not vim.api.nvim_buf_is_valid(buffer) then
    return
  end
  local lines = vim.split(text, "\n", { plain = true })
  local written = vim.api.nvim_buf_get_lines(buffer, 0, -1, true)
  if vim.trim(table.concat(written, "\n")) ~= "" then
    lines[#lines + 1] = ""
    vim.list_extend(lines, written)
  end
  vim.api.nvim_buf_set_lines(buffer, 0, -1, true, lines)
end

---Say in the chat's winbar what is going on.
---@param what string
function M.set_state(what)
  state = what
  local text = " " .. state:gsub("%%", "%%%%")
  for _, window in ipairs(buffers.chat and vim.fn.win_findbuf(buffers.chat) or {}) do
    vim.wo[window][0].winbar = text
  end
end

---Empty the chat.
function M.clear()
  edit(function(buffer)
    vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
    vim.api.nvim_buf_set_lines(buffer, 0, -1, true, {})
  end)
  calls, tail = {}, nil
end

---What the user said.
---@param text string
---@param id? string the message's, for text that comes in pieces
function M.add_user(text, id)
  local key = id and "user " .. id
  if key == nil or tail ~= key then
    start_block(1)
    append("## You\n\n")
  end
  append(text)
  tail = key or ""
end

---A piece of the answer.
---@param text string
---@param id? string the message's
function M.add_answer(text, id)
  local key = "answer " .. (id or "")
  if tail ~= key then
    start_block(1)
    text = text:gsub("^\n+", "")
  end
  append(text)
  tail = key
end

---A piece of the model's thinking, as a quotation.
---@param text string
---@param id? string the message's
function M.add_thought(text, id)
  local key = "thought " .. (id or "")
  if tail ~= key then
    start_block(1)
    append("> ")
  end
  append((text:gsub("\n", "\n> ")))
  tail = key
end

---A line of North's or this plugin's own.
---@param text string
---@param severity? string
function M.add_notice(text, severity)
  start_block(1)
  local mark = (severity == "error" or severity == "warning") and "⚠ " or ""
  append(("> %s%s"):format(mark, (text:gsub("\n", "\n> "))))
  tail = ""
end

---That the user stopped the turn, said once: the server tells it, too.
function M.add_stop()
  if tail ~= "stop" then
    M.add_notice("Stopped.")
    tail = "stop"
  end
end

---@param call north.Call
---@return string
local function line_of(call)
  local note = call.note and (" — " .. call.note) or ""
  if call.status == "waiting" then
    note = " — asks you (:North review)"
  end
  local title = call.status == "completed" and titles.when_done(call.title) or call.title
  return ("- %s %s%s"):format(symbols[call.status] or "·", title, note):gsub("\n", " ⏎ ")
end

---@param content table[]
---@return string[]
local function details_of(content)
  local lines = {}
  for _, part in ipairs(content) do
    if part.type == "content" and part.content.type == "text" then
      vim.list_extend(lines, vim.split(part.content.text, "\n", { plain = true }))
    elseif part.type == "diff" then
      local diff = vim.diff(part.oldText or "", part.newText or "", { ctxlen = 3 }) --[[@as string]]
      lines[#lines + 1] = "```diff"
      vim.list_extend(lines, vim.split(vim.trim(diff), "\n", { plain = true }))
      lines[#lines + 1] = "```"
    end
  end
  return lines
end

---A tool call, new or changed: one line, updated in its place.
---@param update table the fields that are known: toolCallId, title, status, content
function M.set_call(update)
  local call = calls[update.toolCallId]
  if not call then
    start_block(tail == "call" and 0 or 1)
    local buffer = M.buffer()
    local row = vim.api.nvim_buf_line_count(buffer) - 1
    call = { mark = 0, title = "", status = "pending", details = {} }
    call.mark = vim.api.nvim_buf_set_extmark(buffer, namespace, row, 0, {})
    calls[update.toolCallId] = call
    tail = "call"
  end
  call.title = update.title or call.title
  call.status = update.status or call.status
  if update.content then
    call.details = details_of(update.content)
  end
  call.note = nil
  if call.status == "failed" then
    for _, part in ipairs(update.content or {}) do
      if part.type == "content" and part.content.type == "text" then
        call.note = vim.iter(vim.split(part.content.text, "\n", { plain = true })):find(function(line)
          return vim.trim(line) ~= "" and not vim.startswith(line, "```")
        end) or call.note
      end
    end
  end
  edit(function(buffer)
    local row = vim.api.nvim_buf_get_extmark_by_id(buffer, namespace, call.mark, {})[1]
    local old = vim.api.nvim_buf_get_lines(buffer, row, row + 1, true)[1]
    local new = line_of(call)
    if old ~= new then
      vim.api.nvim_buf_set_text(buffer, row, 0, row, #old, { new })
      vim.api.nvim_buf_set_extmark(buffer, namespace, row, 0, { id = call.mark })
    end
  end)
end

---Show what the tool call under the cursor said.
function M.show_details()
  local buffer = M.buffer()
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  for _, call in pairs(calls) do
    if vim.api.nvim_buf_get_extmark_by_id(buffer, namespace, call.mark, {})[1] == row and #call.details > 0 then
      vim.lsp.util.open_floating_preview(call.details, "markdown", { border = "rounded", focus_id = "north" })
      return
    end
  end
  vim.notify("North: no details here", vim.log.levels.INFO)
end

return M
