---The end of the server's own log, and what North keeps on the disk.
local below = require("north.below")
local refused = require("north.answers").refused
local messages = require("north.messages")
local place = require("north.place")

local M = {}

local LINES, LEVELS = 1000, { "debug", "info", "warn", "error" }
local UNITS = { "bytes", "KB", "MB", "GB", "TB" }

M.levels = LEVELS

---@param bytes integer
---@return string
function M.size(bytes)
  local amount, unit = bytes, 1
  while amount >= 1000 and unit < #UNITS do
    amount, unit = amount / 1000, unit + 1
  end
  return (unit > 1 and amount < 10 and "%.1f %s" or "%.0f %s"):format(amount, UNITS[unit])
end

---Show lines in a window of their own, which is used again the next time.
---@param name string
---@param lines string[]
---@param row integer where the cursor goes
local function show(name, lines, row)
  local buffer = vim.fn.bufnr(("^%s$"):format(name))
  if buffer < 0 then
    buffer = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_name(buffer, name)
    vim.bo[buffer].bufhidden = "wipe"
    vim.keymap.set("n", "q", "<cmd>close<cr>", { buffer = buffer, desc = "Close" })
  end
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
  local window = vim.fn.bufwinid(buffer)
  if window < 0 then
    window = below.open(buffer, math.min(#lines, math.floor(vim.o.lines / 2)))
  end
  vim.api.nvim_set_current_win(window)
  vim.wo[window][0].linebreak, vim.wo[window][0].breakindent = true, true
  vim.wo[window][0].breakindentopt = "shift:4"
  vim.api.nvim_win_set_cursor(window, { row, 0 })
end

---@param ask north.Ask
---@param words string the lowest level, or "" for everything
function M.log(ask, words)
  local level = words == "" and "debug" or words
  if not vim.list_contains(LEVELS, level) then
    messages.tell("North: usage: :North log " .. table.concat(LEVELS, "|"), vim.log.levels.ERROR)
    return
  end
  local open_there = place.stay("the log")
  ask("_north/log/get", { lines = LINES, level = level }, function(error, result)
    if error or not result then
      refused(error)
      return
    end
    local lines = { result.path, "" }
    vim.list_extend(lines, result.lines)
    open_there(function()
      show("north://log", lines, #lines)
    end)
  end)
end

---@param ask north.Ask
function M.storage(ask)
  local open_there = place.stay("the list")
  ask("_north/storage/get", {}, function(error, result)
    if error or not result then
      refused(error)
      return
    end
    local lines, total = {}, 0
    for _, area in ipairs(result.areas) do
      total = total + area.size
      lines[#lines + 1] = ("%-32s %9s   freed by %s"):format(area.title, M.size(area.size), (area.freedBy:gsub("`", "")))
    end
    local head = ("%s in %s and %s"):format(M.size(total), result.data, result.state)
    local foot = "`/storage clean` in the chat removes what North can do without, after asking."
    open_there(function()
      show("north://storage", vim.list_extend({ head, "" }, vim.list_extend(lines, { "", foot })), 1)
    end)
  end)
end

return M
