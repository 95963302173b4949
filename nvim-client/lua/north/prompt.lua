---The buffer to type in: what stands there is sent, and what goes with it is named above it.
local attachments = require("north.attachments")
local history = require("north.history")
local live = require("north.live")

local M = {}

---@class north.KeptPrompt
---@field prompt_buffer? integer
local own = live.keep("prompt", function()
  return {}
end)
---@type fun(buffer: integer)[] what is to be done with a new buffer
local on_buffer = {}
---@type fun(text: string) takes what the user typed
local on_send = function() end
---@type fun() for Enter where nothing is typed
local on_nothing = function() end
---@type fun(): string how the keys are called that work here
local hint = function()
  return ""
end

---@param name string
---@param buffer integer?
---@return integer
function M.make_buffer(name, buffer)
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

local function send()
  local buffer = own().prompt_buffer --[[@as integer]]
  local text = vim.trim(table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, true), "\n"))
  vim.cmd.stopinsert()
  if text == "" then
    on_nothing()
    return
  end
  vim.api.nvim_buf_set_lines(buffer, 0, -1, true, {})
  local is_taken, problem = pcall(on_send, text)
  if not is_taken then -- as where there is no room for the chat's windows
    M.restore(text)
    error(problem, 0)
  end
end

---What happens with what is typed.
---@param options { send: fun(text: string), nothing: fun(), hint: fun(): string }
function M.set(options)
  on_send, on_nothing, hint = options.send, options.nothing, options.hint
end

---Have something done with the buffer to type in whenever it is made.
---@param act fun(buffer: integer)
function M.on_buffer(act)
  on_buffer[#on_buffer + 1] = act
end

---The buffer to type in, made when it is not there.
---@return integer
function M.buffer()
  local known = own().prompt_buffer
  local buffer = M.make_buffer(live.buffer_name("prompt"), known)
  if buffer ~= known then
    own().prompt_buffer = buffer
    vim.keymap.set({ "n", "i" }, "<CR>", function()
      if vim.fn.pumvisible() == 1 and vim.fn.complete_info({ "selected" }).selected >= 0 then
        vim.api.nvim_feedkeys(vim.keycode("<C-y>"), "n", false) -- what is chosen in the list
        return
      end
      send()
    end, { buffer = buffer, desc = "North: send" })
    vim.keymap.set("i", "<C-j>", "<CR>", { buffer = buffer, desc = "North: a new line" })
    for _, act in ipairs(on_buffer) do
      act(buffer)
    end
  end
  return buffer
end

---Put a text into the window to type in, before what is being written there.
---@param text string
function M.restore(text)
  local buffer = M.buffer()
  history.reset(buffer) -- what stands there now is a draft, whatever it was before
  local lines = vim.split(text, "\n", { plain = true })
  local written = vim.api.nvim_buf_get_lines(buffer, 0, -1, true)
  if vim.trim(table.concat(written, "\n")) == "" then
    vim.api.nvim_buf_set_lines(buffer, 0, -1, true, lines)
    return
  end
  lines[#lines + 1] = ""
  vim.api.nvim_buf_set_lines(buffer, 0, 0, true, lines) -- above: the cursor stays in what is being typed
end

---Show above the window what goes along, and the keys.
function M.show()
  local buffer = own().prompt_buffer
  if not buffer or not vim.api.nvim_buf_is_valid(buffer) then
    return
  end
  local parts = {}
  for _, label in ipairs(attachments.labels()) do
    parts[#parts + 1] = ("%%#NorthAttachment#[%s]%%*"):format((label:gsub("%%", "%%%%")))
  end
  parts[#parts + 1] = hint():gsub("%%", "%%%%")
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    vim.wo[window][0].winbar = " " .. table.concat(parts, " ") .. "%<"
  end
end

return M
