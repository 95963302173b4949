---The keys of the chat and of the window to type in, all of them configurable, and the list of them. None of them
---decides a question.
local chat = require("north.chat")
local config = require("north.config")
local outputs = require("north.outputs")
local prompt = require("north.prompt")

local M = {}

---@class north.Keymap
---@field name string of `setup({ keys = … })`
---@field modes string[]
---@field act fun()
---@field text string

---@return north.Keymap[]
local function of_chat()
  return {
    { name = "details", modes = { "n" }, act = chat.show_details, text = "what the tool call under the cursor said" },
    {
      name = "whole",
      modes = { "n" },
      act = function()
        outputs.open(require("north.conversation").ask_server, chat.truncation())
      end,
      text = "the whole output of the tool call under the cursor, where the model got a part",
    },
    {
      name = "open",
      modes = { "n" },
      act = function()
        if chat.is_asked_here() then
          require("north.conversation").review()
        else
          chat.show_details()
        end
      end,
      text = "the question that the call under the cursor asks, else what it said",
    },
    {
      name = "write",
      modes = { "n" },
      act = function()
        chat.open(true)
        vim.cmd.startinsert()
      end,
      text = "to the window to type in",
    },
    { name = "copy", modes = { "n" }, act = chat.copy_code, text = "copy the code block under the cursor" },
    {
      name = "next_turn",
      modes = { "n" },
      act = function()
        chat.go(1)
      end,
      text = "the next turn",
    },
    {
      name = "previous_turn",
      modes = { "n" },
      act = function()
        chat.go(-1)
      end,
      text = "the previous turn",
    },
    { name = "close", modes = { "n" }, act = M.close, text = "close the chat" },
  }
end

---@return north.Keymap[]
local function of_both()
  return {
    {
      name = "stop",
      modes = { "n", "i" },
      act = function()
        require("north.conversation").interrupt()
      end,
      text = "stop the turn",
    },
    { name = "help", modes = { "n" }, act = M.help, text = "this list" },
  }
end

function M.close()
  require("north.layout").close(chat.buffers())
end

---@param buffer integer
---@param maps north.Keymap[]
local function map(buffer, maps)
  for _, one in ipairs(maps) do
    local key = config.current.keys[one.name]
    if key and key ~= "" then
      vim.keymap.set(one.modes, key, one.act, { buffer = buffer, nowait = true, desc = "North: " .. one.text })
    end
  end
end

---The keys of both windows, in a float.
function M.help()
  local keys = config.current.keys
  local lines = { "# In the chat" }
  ---@param key string|false
  ---@param text string
  local function add(key, text)
    if key and key ~= "" then
      lines[#lines + 1] = ("- `%s` %s"):format(key, text)
    end
  end
  for _, one in ipairs(vim.list_extend(of_chat(), of_both())) do
    add(keys[one.name], one.text)
  end
  add("zo, zc", "open and close what is folded")
  vim.list_extend(lines, { "", "# In the window to type in" })
  add("<CR>", "send; with nothing typed: the question that waits")
  add("<C-j>", "a new line, in insert mode")
  add("<Up>, <C-p>", "prompts that were sent before; `<Down>`, `<C-n>` later ones")
  add("/, @", "commands at the beginning, files and folders anywhere")
  for _, one in ipairs(of_both()) do
    add(keys[one.name], one.text)
  end
  vim.list_extend(lines, { "", "# Where a question is shown (`:North review`)" })
  add(keys.accept, "accept, or run once")
  add(keys.reject, "reject; `" .. tostring(keys.comment) .. "` says why")
  lines[#lines + 1] = "- all of them are shown above the question"
  vim.list_extend(lines, { "", "`:help north` has everything." })
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, true, lines)
  vim.bo[buffer].bufhidden, vim.bo[buffer].modifiable, vim.bo[buffer].filetype = "wipe", false, "markdown"
  local width, height = math.min(72, vim.o.columns - 4), math.min(#lines, vim.o.lines - 5)
  local window = vim.api.nvim_open_win(buffer, true, {
    relative = "editor",
    width = width,
    height = height,
    row = math.max(0, math.floor((vim.o.lines - height) / 2) - 1),
    col = math.floor((vim.o.columns - width) / 2),
    border = "rounded",
    style = "minimal",
    title = " Keys · q closes ",
  })
  vim.wo[window][0].conceallevel = 2
  for _, key in ipairs({ "q", "<Esc>" }) do
    vim.keymap.set("n", key, "<cmd>close<cr>", { buffer = buffer, nowait = true, desc = "Close" })
  end
end

---Give the windows their keys, now and whenever a buffer is made anew.
function M.attach()
  chat.on_buffer(function(buffer)
    map(buffer, of_chat())
    map(buffer, of_both())
  end)
  prompt.on_buffer(function(buffer)
    map(buffer, of_both())
  end)
end

---What stands above the window to type in.
---@return string
function M.hint()
  local keys = config.current.keys
  local parts = { "Enter send" } -- what is needed least comes last, where a narrow window has no room for it
  if keys.help and keys.help ~= "" then
    parts[#parts + 1] = keys.help .. " keys"
  end
  if keys.stop and keys.stop ~= "" then
    parts[#parts + 1] = keys.stop:gsub("^<(.*)>$", "%1") .. " stop"
  end
  parts[#parts + 1] = "C-j line"
  return table.concat(parts, " · ")
end

return M
