---What Neovim shows while the user writes a prompt, in the form in which the server takes it: lines count from 1.
local M = {}

local MOST_FILES = 20
local MOST_EDITS = 10
local MOST_PROBLEMS = 10
local SEVERITIES = { "error", "warning", "info", "hint" }

---@type { uri: string, line: integer }[] the last one first
local edits = {}

---@param buffer integer
---@return boolean
local function is_file(buffer)
  return vim.bo[buffer].buftype == "" and vim.api.nvim_buf_get_name(buffer) ~= ""
end

---Remember where the user has just typed.
---@param buffer integer
function M.edited(buffer)
  if vim.api.nvim_get_current_buf() ~= buffer or not is_file(buffer) then
    return
  end
  local uri = vim.uri_from_bufnr(buffer)
  edits = vim.tbl_filter(function(other)
    return other.uri ~= uri
  end, edits)
  table.insert(edits, 1, { uri = uri, line = vim.api.nvim_win_get_cursor(0)[1] })
  edits[MOST_EDITS + 1] = nil
end

---The windows of this tab that show files; the one that was used last comes first.
---@return integer[]
local function file_windows()
  local previous = vim.fn.win_getid(vim.fn.winnr("#"))
  local found = {}
  for _, window in ipairs({ vim.api.nvim_get_current_win(), previous, unpack(vim.api.nvim_tabpage_list_wins(0)) }) do
    local exists = window ~= 0 and vim.api.nvim_win_is_valid(window)
    if exists and not vim.list_contains(found, window) and is_file(vim.api.nvim_win_get_buf(window)) then
      table.insert(found, window)
    end
  end
  return found
end

---@param window integer
---@return table
local function active_in(window)
  local state = {
    uri = vim.uri_from_bufnr(vim.api.nvim_win_get_buf(window)),
    line = vim.api.nvim_win_get_cursor(window)[1],
    inView = { vim.fn.line("w0", window), vim.fn.line("w$", window) },
  }
  if window == vim.api.nvim_get_current_win() and vim.fn.mode():match("^[vV\22]") then
    local from, to = vim.fn.line("v"), vim.fn.line(".")
    state.selection = { math.min(from, to), math.max(from, to) }
  end
  return state
end

---@param buffer integer
---@return table[]
local function problems_in(buffer)
  local found = vim.diagnostic.get(buffer)
  table.sort(found, function(one, other)
    return one.severity < other.severity or (one.severity == other.severity and one.lnum < other.lnum)
  end)
  return vim.tbl_map(function(one)
    return { line = one.lnum + 1, severity = SEVERITIES[one.severity], message = one.message }
  end, vim.list_slice(found, 1, MOST_PROBLEMS))
end

---@param buffers integer[]
---@return string[]
local function names(buffers)
  local found = {}
  for _, buffer in ipairs(buffers) do
    local uri = vim.uri_from_bufnr(buffer)
    if #found < MOST_FILES and not vim.list_contains(found, uri) then
      table.insert(found, uri)
    end
  end
  return found
end

---@return table `_meta.north.editorState` of a prompt
function M.now()
  local windows = file_windows()
  local listed = vim.tbl_filter(function(buffer)
    return vim.bo[buffer].buflisted and is_file(buffer)
  end, vim.api.nvim_list_bufs())
  local unsaved = vim.tbl_filter(function(buffer)
    return vim.bo[buffer].modified
  end, listed)
  return {
    active = windows[1] and active_in(windows[1]),
    visible = names(vim.tbl_map(vim.api.nvim_win_get_buf, windows)),
    open = names(listed),
    unsaved = names(unsaved),
    recentEdits = edits,
    problems = windows[1] and problems_in(vim.api.nvim_win_get_buf(windows[1])) or {},
  }
end

return M
