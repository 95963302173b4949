---Commands that run in a terminal of Neovim's own, with input, where the user chose that: ACP's `terminal/*`.
local below = require("north.below")
local compat = require("north.compat")
local live = require("north.live")

local M = {}

local LIMIT = 50000
local HEIGHT = 12

---@class north.Terminal
---@field buffer integer
---@field job integer
---@field limit integer bytes of output that are told
---@field exit? { exitCode?: integer, signal?: string }
---@field waiting fun()[] what is to be done at its end

---@type fun(): table<string, north.Terminal>
local own = live.keep("terminals", function()
  return {}
end)
local last = 0

---@param buffer integer
local function show(buffer)
  local before = vim.api.nvim_get_current_win()
  local window = below.open(buffer, HEIGHT)
  vim.wo[window][0].winfixheight = true
  vim.wo[window][0].winbar = " North runs this here: i types into it, :quit hides it, :North stop ends it%<"
  vim.api.nvim_set_current_win(before)
end

---@param rows { name: string, value: string }[]?
---@return table<string, string>
local function environ(rows)
  local found = vim.empty_dict()
  for _, row in ipairs(rows or {}) do
    found[row.name] = row.value
  end
  return found
end

---Answer `terminal/create`. The terminal opens without taking the cursor.
---@param params table
---@return table result
---@return table? error
function M.create(params)
  compat.validate("params.command", params.command, "string")
  local argv = vim.list_extend({ params.command }, params.args or {})
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = "hide"
  ---@type north.Terminal
  local terminal = { buffer = buffer, job = 0, limit = params.outputByteLimit or LIMIT, waiting = {} }
  local ok, job = pcall(vim.api.nvim_buf_call, buffer, function()
    local options = {
      cwd = params.cwd,
      env = environ(params.env),
      on_exit = function(_, code)
        terminal.exit = { exitCode = code }
        for _, act in ipairs(terminal.waiting) do
          act()
        end
        terminal.waiting = {}
      end,
    }
    if vim.fn.has("nvim-0.11") == 1 then
      options.term = true
      return vim.fn.jobstart(argv, options)
    end
    return vim.fn.termopen(argv, options)
  end)
  if not ok or job <= 0 then
    pcall(vim.api.nvim_buf_delete, buffer, { force = true })
    return vim.NIL, { code = -32603, message = "Neovim could not start the command in a terminal: " .. tostring(job) }
  end
  terminal.job = job
  last = last + 1
  local id = ("neovim-%d"):format(last)
  own()[id] = terminal
  show(buffer)
  return { terminalId = id }
end

---@param terminal north.Terminal
---@return string text
---@return boolean truncated
local function output_of(terminal)
  if not vim.api.nvim_buf_is_valid(terminal.buffer) then
    return "", false
  end
  local lines = vim.api.nvim_buf_get_lines(terminal.buffer, 0, -1, false)
  while lines[#lines] == "" do
    lines[#lines] = nil
  end
  if terminal.exit and (lines[#lines] or ""):find("^%[Process exited %d+%]$") then
    lines[#lines] = nil -- Neovim's own words
  end
  local text = table.concat(lines, "\n")
  if #text <= terminal.limit then
    return text, false
  end
  local rest = text:sub(-terminal.limit)
  return (rest:gsub("^[\128-\191]+", "")), true
end

---@param params table
---@return north.Terminal?
---@return table? error
local function find(params)
  local terminal = own()[params.terminalId]
  if not terminal then
    return nil, { code = -32602, message = "there is no such terminal" }
  end
  return terminal
end

---@param params table
---@return table result
---@return table? error
function M.output(params)
  local terminal, problem = find(params)
  if not terminal then
    return vim.NIL, problem
  end
  local text, truncated = output_of(terminal)
  return { output = text, truncated = truncated, exitStatus = terminal.exit }
end

---Answer `terminal/wait_for_exit`, to be called by its handler: Neovim runs that in a coroutine, which sleeps.
---@param params table
---@return table result
---@return table? error
function M.wait_for_exit(params)
  local terminal, problem = find(params)
  if not terminal then
    return vim.NIL, problem
  end
  if not terminal.exit then
    local thread = coroutine.running()
    table.insert(terminal.waiting, function()
      vim.schedule(function() -- never before the coroutine sleeps, and after the last output
        coroutine.resume(thread)
      end)
    end)
    coroutine.yield()
  end
  return terminal.exit or { exitCode = vim.NIL }
end

---@param params table
---@return table result
---@return table? error
function M.kill(params)
  local terminal, problem = find(params)
  if not terminal then
    return vim.NIL, problem
  end
  vim.fn.jobstop(terminal.job)
  return vim.empty_dict()
end

---Answer `terminal/release`: what runs is ended; what it showed stays until its window is closed.
---@param params table
---@return table result
---@return table? error
function M.release(params)
  local terminal, problem = find(params)
  if not terminal then
    return vim.NIL, problem
  end
  own()[params.terminalId] = nil
  vim.fn.jobstop(terminal.job)
  if vim.api.nvim_buf_is_valid(terminal.buffer) then
    vim.bo[terminal.buffer].bufhidden = "wipe"
    if #vim.fn.win_findbuf(terminal.buffer) == 0 then
      vim.api.nvim_buf_delete(terminal.buffer, { force = true })
    end
  end
  return vim.empty_dict()
end

---End all of them: the server is gone.
function M.end_all()
  for id in pairs(vim.deepcopy(own())) do
    M.release({ terminalId = id })
  end
end

return M
