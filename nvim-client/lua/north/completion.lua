---What fits the word that is being typed into the window for prompts: slash commands at the beginning, and files and
---folders behind an `@`. It comes by itself where nothing is inserted unasked (Neovim 0.11), and with CTRL-X CTRL-O.
local compat = require("north.compat")
local config = require("north.config")
local live = require("north.live")

local M = {}

local LIMIT = 20
local PATIENCE_MS = 500

---@class north.Offered
---@field name string
---@field description? string
---@field input? { hint?: string }

---@class north.KeptCompletion
---@field commands north.Offered[]
local own = live.keep("completion", function()
  return { commands = {} }
end)

---Take what the server offers.
---@param offered north.Offered[]
function M.take_commands(offered)
  own().commands = offered
end

---Whether a text calls a command that the server has offered.
---@param text string
---@return boolean
function M.is_command(text)
  local name = text:match("^/(%S+)")
  return name ~= nil and vim.iter(own().commands):any(function(one)
    return one.name == name
  end)
end

---How many commands the server has offered.
---@return integer
function M.count()
  return #own().commands
end

---Which word is being typed: where it begins (from 0), and what it is without its sign.
---@param line string up to the cursor
---@param is_first boolean whether it is the first line
---@return "command"|"path"|nil
---@return integer
---@return string
function M.word(line, is_first)
  local name = is_first and line:match("^%s*/([%w:_-]*)$")
  if name then
    return "command", #line - #name - 1, name
  end
  local path = line:match("^@([^%s@`\"]*)$") or line:match("[%s(]@([^%s@`\"]*)$")
  if path then
    return "path", #line - #path - 1, path
  end
  return nil, -1, ""
end

---@param name string
---@return table[]
local function fitting_commands(name)
  local found = {}
  for _, one in ipairs(own().commands) do
    if vim.startswith(one.name, name) then
      local hint = vim.tbl_get(one, "input", "hint")
      found[#found + 1] = { word = "/" .. one.name, menu = hint or "", info = one.description or "", icase = 1 }
    end
  end
  return found
end

---@param name string
---@return string
local function mentioned(name)
  return name:find("%s") and ('@"%s"'):format(name) or "@" .. name
end

---@param result? { paths: { path: string, kind: string }[], names?: { name: string, kind: string, detail: string }[] }
---@return table[]
local function fitting_paths(result)
  local rows = vim.tbl_map(function(one)
    local shown = one.path .. (one.kind == "folder" and not vim.endswith(one.path, "/") and "/" or "")
    return { word = mentioned(shown), kind = one.kind == "folder" and "d" or "f", icase = 1, dup = 1 }
  end, result and result.paths or {})
  for _, one in ipairs(result and result.names or {}) do
    rows[#rows + 1] = { word = mentioned(one.name), menu = one.detail, kind = "n", icase = 1, dup = 1 }
  end
  return rows
end

---@param current fun(): { client: vim.lsp.Client?, session_id: string? }
---@return fun(findstart: integer, base: string): integer|table[]
local function omnifunc(current)
  return function(findstart, base)
    if findstart == 1 then
      local before = vim.api.nvim_get_current_line():sub(1, vim.fn.col(".") - 1)
      local kind, at = M.word(before, vim.fn.line(".") == 1)
      return kind and at or -3
    end
    if vim.startswith(base, "/") then
      return fitting_commands(base:sub(2))
    end
    local now = current()
    if not now.client or not now.session_id then
      return {}
    end
    local params = { sessionId = now.session_id, query = base:sub(2), limit = LIMIT }
    local answer = compat.call(now.client, "request_sync", "_north/paths/complete", params, PATIENCE_MS)
    return fitting_paths(answer and answer.result)
  end
end

---@type fun(): { client: vim.lsp.Client?, session_id: string? }
local now_of = function()
  return {}
end

---What fits the word before the cursor, for a completion plugin: rows as |complete-items|, told once.
---@param line string up to the cursor
---@param is_first boolean whether it is the first line
---@param on_found fun(at: integer, rows: table[]) `at` is where the word begins, from 0
---@return fun()? cancel
function M.find(line, is_first, on_found)
  local kind, at, word = M.word(line, is_first)
  if kind == "command" then
    on_found(at, fitting_commands(word))
    return nil
  end
  local now = now_of()
  if kind ~= "path" or not now.client or not now.session_id then
    on_found(at, {})
    return nil
  end
  local params = { sessionId = now.session_id, query = word, limit = LIMIT }
  local ok, id = compat.call(now.client, "request", "_north/paths/complete", params, function(_, result)
    on_found(at, fitting_paths(result))
  end)
  return function()
    if ok and id then
      compat.call(now.client, "cancel_request", id)
    end
  end
end

---@type fun(findstart: integer, base: string): integer|table[]
local complete_word = function()
  return -3
end

---For 'omnifunc'.
---@param findstart integer
---@param base string
---@return integer|table[]
function M.omnifunc(findstart, base)
  return complete_word(findstart, base)
end

---Offer what fits as soon as a sign is typed, in a window to type in.
---@param buffer integer
---@param current fun(): { client: vim.lsp.Client?, session_id: string? }
function M.attach(buffer, current)
  compat.validate("buffer", buffer, "number")
  compat.validate("current", current, "function")
  complete_word = omnifunc(current)
  now_of = current
  if vim.b[buffer].north_completion then
    return
  end
  vim.b[buffer].north_completion = true
  vim.bo[buffer].omnifunc = "v:lua.require'north.completion'.omnifunc"
  if config.current.completion == "omni" then
    return -- a plugin that has North among its sources shows what fits
  elseif vim.fn.has("nvim-0.11") == 0 then
    return -- 'completeopt' is the user's there, for all buffers, and may insert what was not chosen
  end
  vim.bo[buffer].completeopt = "menuone,noselect,popup"
  vim.api.nvim_create_autocmd("TextChangedI", {
    buffer = buffer,
    callback = function()
      local row, column = unpack(vim.api.nvim_win_get_cursor(0))
      local before = vim.api.nvim_get_current_line():sub(1, column)
      local kind, at, word = M.word(before, row == 1)
      if kind == "command" then
        vim.fn.complete(at + 1, fitting_commands(word))
        return
      end
      local now = current()
      if kind ~= "path" or not now.client or not now.session_id then
        return
      end
      local params = { sessionId = now.session_id, query = word, limit = LIMIT }
      compat.call(now.client, "request", "_north/paths/complete", params, function(_, result)
        local is_here = vim.api.nvim_get_current_buf() == buffer and vim.fn.mode() == "i"
        -- What was typed meanwhile has asked again.
        if is_here and vim.api.nvim_get_current_line():sub(1, vim.fn.col(".") - 1) == before then
          vim.fn.complete(at + 1, fitting_paths(result))
        end
      end, buffer)
    end,
  })
end

return M
