---A proposed edit inside the user's own files: what goes is marked, what comes stands below it as virtual text, and the
---files themselves are not touched. Hunks and files can be left out, and what comes can be changed. Its keys hold only in the files that are reviewed,
---and only after the user has gone there.
local below = require("north.below")
local compat = require("north.compat")
local config = require("north.config")
local deciding = require("north.deciding")
local file_rows = require("north.file_rows")
local inline_blocks = require("north.inline_blocks")
local inline_edit = require("north.inline_edit")
local inline_marks = require("north.inline_marks")
local keys = require("north.keys")
local messages = require("north.messages")
local texts = require("north.texts")

local M = {}

local LIST, MOST_ROWS = "north://files", 8

---@class north.Inline : north.Decidable, north.Chosen
---@field proposal north.Proposal
---@field keys north.Key[]
---@field active boolean the keys hold
---@field windows table<integer, boolean> those that show the keys
---@field undo fun()[] what takes back what was done to buffers and windows
---@field list? { buffer: integer, window: integer }

---@type north.Inline?
local current

---@param shown north.Inline
---@return string[]
local function list_lines(shown)
  return vim.tbl_map(function(file)
    local standing = #vim.tbl_filter(function(hunk)
      return not inline_blocks.is_left(shown, file, hunk)
    end, file.hunks)
    return file_rows.line({
      path = file.path,
      kind = file.kind,
      is_shown = vim.list_contains({ file.buffer or -1, file.preview or -1 }, vim.api.nvim_get_current_buf()),
      is_out = shown.out[file.path] or false,
      old = file.diff and file.diff.oldText,
      new = file.diff and file.diff.newText,
      hunks = { standing = standing, all = #file.hunks },
    })
  end, shown.files)
end

---@param shown north.Inline
local function draw(shown)
  for _, file in ipairs(shown.files) do
    if file.buffer and vim.api.nvim_buf_is_valid(file.buffer) then
      inline_marks.draw(shown, file)
    end
  end
  local list = shown.list
  if list and vim.api.nvim_buf_is_valid(list.buffer) then
    vim.bo[list.buffer].modifiable = true
    vim.api.nvim_buf_set_lines(list.buffer, 0, -1, true, list_lines(shown))
    vim.bo[list.buffer].modifiable = false
  end
end

---The file that the cursor is about: in the list, or the one that is shown.
---@param shown north.Inline
---@return north.InlineFile?
local function file_here(shown)
  local buffer = vim.api.nvim_get_current_buf()
  if shown.list and buffer == shown.list.buffer then
    return shown.files[vim.fn.line(".")]
  end
  return vim.iter(shown.files):find(function(file)
    return file.buffer == buffer or file.preview == buffer
  end)
end

---Say in a window which keys hold there, until the review is over.
---@param shown north.Inline
---@param window integer
local function show_keys(shown, window)
  if shown.windows[window] then
    return
  end
  shown.windows[window] = true
  local before = vim.wo[window].winbar
  local set, parts, rest = config.current.keys, {}, {}
  ---@param into string[]
  ---@param key string
  ---@param text string
  local function add(into, key, text)
    into[#into + 1] = ("%%#NorthKey#%s%%* %s"):format((key:gsub("%%", "%%%%")), (text:gsub("%%", "%%%%")))
  end
  for _, key in ipairs(shown.keys) do
    local is_plain = key.option.kind ~= "allow_always" and not key.asks
    add(is_plain and parts or rest, key.key, key.label) -- what is needed most is not cut off
  end
  add(parts, set.hunk, "hunk out/in")
  add(parts, set.edit, "change it")
  add(parts, set.leave, "file out/in")
  add(parts, ("%s %s"):format(set.previous_hunk or "[h", set.next_hunk or "]h"), "hunks")
  vim.list_extend(parts, rest)
  vim.wo[window][0].winbar = " " .. table.concat(parts, " │ ") .. "%<"
  table.insert(shown.undo, function()
    if vim.api.nvim_win_is_valid(window) then
      vim.wo[window].winbar = before
    end
  end)
end

local map_all

---A new or a deleted file as a whole, to be looked at.
---@param shown north.Inline
---@param file north.InlineFile
---@return integer?
local function preview_of(shown, file)
  if not file.diff or (file.preview and vim.api.nvim_buf_is_valid(file.preview)) then
    return file.preview
  end
  local is_deleted = file.kind == "delete"
  local text = is_deleted and file.diff.oldText or file.diff.newText
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, true, texts.lines(text or "", texts.form(text or "")))
  vim.bo[buffer].bufhidden, vim.bo[buffer].modifiable = "hide", false
  texts.dress(buffer, file.path)
  inline_marks.draw_whole(buffer, is_deleted and "NorthRemoved" or "NorthAdded")
  file.preview = buffer
  map_all(shown, buffer)
  table.insert(shown.undo, 1, function() -- after its windows got their winbars back
    pcall(vim.api.nvim_buf_delete, buffer, { force = true })
  end)
  return buffer
end

---@param shown north.Inline
---@param file north.InlineFile
local function go_to_file(shown, file)
  local buffer = file.buffer or preview_of(shown, file)
  if not buffer then
    messages.tell("North: this file has no text to show", vim.log.levels.INFO)
    return
  end
  local window = vim.fn.bufwinid(buffer)
  if window == -1 then
    local files = vim.tbl_filter(function(one)
      return vim.bo[vim.api.nvim_win_get_buf(one)].buftype == "" and not vim.wo[one].winfixbuf
    end, vim.api.nvim_tabpage_list_wins(0))
    if files[1] then
      vim.api.nvim_set_current_win(files[1])
    else
      vim.cmd("topleft vsplit")
    end
    vim.api.nvim_set_current_buf(buffer)
    if shown.active then
      show_keys(shown, vim.api.nvim_get_current_win())
    end
  else
    vim.api.nvim_set_current_win(window)
  end
  if not file.buffer then
    draw(shown)
    return
  end
  local row = math.max(file.blocks[1].row, 0)
  vim.api.nvim_win_set_cursor(0, { row + 1, 0 })
  if file.blocks[1].row < 0 then
    vim.fn.winrestview({ topline = 1, topfill = #file.blocks[1].added })
  end
  draw(shown)
end

---@param shown north.Inline
---@param step integer
local function go_hunk(shown, step)
  local file = file_here(shown)
  if not file or not file.buffer then
    return
  end
  local row = vim.fn.line(".") - 1
  for index = step > 0 and 1 or #file.blocks, step > 0 and #file.blocks or 1, step do
    local target = math.max(file.blocks[index].row, 0)
    if (target - row) * step > 0 then
      vim.api.nvim_win_set_cursor(0, { target + 1, 0 })
      return
    end
  end
end

---@param shown north.Inline
---@param step integer
local function go_file(shown, step)
  local file = file_here(shown)
  local at = 1
  for index, one in ipairs(shown.files) do
    at = one == file and index or at
  end
  for _ = 1, #shown.files do
    at = (at - 1 + step) % #shown.files + 1
    if shown.files[at].diff then
      return go_to_file(shown, shown.files[at])
    end
  end
end

---The block under the cursor; without one the user is told.
---@param shown north.Inline
---@return north.InlineFile?
---@return north.Block?
local function block_here(shown)
  local file = file_here(shown)
  local block = file and inline_blocks.at(file, vim.fn.line(".") - 1)
  if not block then
    messages.tell("North: there is no hunk under the cursor", vim.log.levels.INFO)
  end
  return file, block
end

---Leave the hunk under the cursor out, or take it in again.
---@param shown north.Inline
local function toggle_hunk(shown)
  local file, block = block_here(shown)
  if file and block then
    local name = inline_blocks.name_of(file.path, block.hunk)
    shown.left[name] = not shown.left[name] or nil
    draw(shown)
  end
end

---Let the user change the lines that come at the cursor.
---@param shown north.Inline
local function edit_lines(shown)
  local file, block = block_here(shown)
  if file and block then
    inline_edit.open(file, block, function()
      if current == shown then
        shown.left[inline_blocks.name_of(file.path, block.hunk)] = nil
        draw(shown)
      end
    end)
  end
end

---@param shown north.Inline
local function toggle_file(shown)
  local file = file_here(shown)
  if file then
    shown.out[file.path] = not shown.out[file.path] or nil
    draw(shown)
  end
end

---Map a key in a buffer until the review is over, and keep what it was.
---@param shown north.Inline
---@param buffer integer
---@param key string
---@param act fun()
---@param text string
local function map(shown, buffer, key, act, text)
  local before = vim.api.nvim_buf_call(buffer, function()
    return vim.fn.maparg(key, "n", false, true)
  end)
  vim.keymap.set("n", key, act, { buffer = buffer, nowait = true, desc = "North: " .. text })
  table.insert(shown.undo, function()
    if not vim.api.nvim_buf_is_valid(buffer) then
      return
    end
    pcall(vim.keymap.del, "n", key, { buffer = buffer })
    if before.buffer == 1 then
      vim.api.nvim_buf_call(buffer, function()
        vim.fn.mapset("n", false, before)
      end)
    end
  end)
end

---@param shown north.Inline
---@param buffer integer
map_all = function(shown, buffer)
  local set = config.current.keys
  for _, key in ipairs(shown.keys) do
    map(shown, buffer, key.key, function()
      deciding.decide(shown, key, function()
        return inline_blocks.what_stands(shown)
      end, function()
        return current == shown
      end)
    end, key.label)
  end
  local own = {
    [set.hunk] = { toggle_hunk, "leave this hunk out, or take it in" },
    [set.edit] = { edit_lines, "change the lines that come here" },
    [set.leave] = { toggle_file, "leave this file out, or take it in" },
    [set.next_hunk or "]h"] = { function() go_hunk(shown, 1) end, "the next hunk" },
    [set.previous_hunk or "[h"] = { function() go_hunk(shown, -1) end, "the previous hunk" },
    [set.next] = { function() go_file(shown, 1) end, "the next file" },
    [set.previous] = { function() go_file(shown, -1) end, "the previous file" },
  } -- stylua: ignore
  for key, what in pairs(own) do
    map(shown, buffer, key, function()
      what[1](shown)
    end, what[2])
  end
end

---The list of the files, where there are several. It takes no cursor.
---@param shown north.Inline
local function open_list(shown)
  if #shown.files < 2 or shown.list then
    return
  end
  local taken = vim.fn.bufnr(("^%s$"):format(LIST))
  if taken ~= -1 then
    pcall(vim.api.nvim_buf_delete, taken, { force = true })
  end
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = "wipe"
  vim.api.nvim_buf_set_name(buffer, LIST)
  local height = math.min(#shown.files, MOST_ROWS) + 1
  local window = below.open(buffer, height)
  for name, value in pairs({ number = false, relativenumber = false, wrap = false, cursorline = true }) do
    vim.api.nvim_set_option_value(name, value, { win = window, scope = "local" })
  end
  shown.list = { buffer = buffer, window = window }
  map_all(shown, buffer)
  vim.keymap.set("n", "<CR>", function()
    local file = file_here(shown)
    if file then
      go_to_file(shown, file)
    end
  end, { buffer = buffer, nowait = true, desc = "North: show this file" })
  show_keys(shown, window)
end

---Let the keys hold, and go to the first hunk.
---@param shown north.Inline
local function activate(shown)
  if shown.active then
    local file = file_here(shown)
    if not file then
      go_file(shown, 1)
    end
    return
  end
  shown.active = true
  for _, file in ipairs(shown.files) do
    if file.buffer then
      map_all(shown, file.buffer)
    end
  end
  open_list(shown)
  local first = vim.iter(shown.files):find(function(file)
    return file.buffer ~= nil
  end) --[[@as north.InlineFile]]
  local here = file_here(shown)
  go_to_file(shown, here and here.buffer and here or first)
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    for _, file in ipairs(shown.files) do
      if vim.api.nvim_win_get_buf(window) == file.buffer then
        show_keys(shown, window)
      end
    end
  end
  draw(shown)
end

---Show a proposal in its files; `focus` goes to its first hunk and lets the keys hold.
---@param proposal north.Proposal
---@param focus boolean
---@param choose fun(option: north.Option, extra?: north.Extra)
---@return boolean shown false where it has to be shown otherwise
function M.open(proposal, focus, choose)
  compat.validate("proposal", proposal, "table")
  if not (current and current.proposal == proposal) then
    M.close()
    local files = inline_blocks.files_of(proposal)
    if not files then
      return false
    end
    current = {
      proposal = proposal,
      files = files,
      keys = keys.of(proposal.options),
      choose = choose,
      out = {},
      left = {},
      active = false,
      windows = {},
      undo = {},
    }
    draw(current)
    vim.api.nvim_create_autocmd({ "WinResized", "BufWinEnter" }, {
      group = vim.api.nvim_create_augroup("north.inline", { clear = true }),
      desc = "North: proposed lines are as wide as their window",
      callback = function()
        if not current then
          return true
        end
        draw(current)
      end,
    })
  end
  if focus then
    for _, note in ipairs(proposal.notes) do
      messages.tell("North: " .. note:gsub("%s*\n%s*", " "), vim.log.levels.WARN)
    end
    activate(current --[[@as north.Inline]])
  end
  return true
end

---Take all marks and keys away; this decides nothing.
---@param proposal? north.Proposal only where it is this one that is shown
function M.close(proposal)
  local shown = current
  if not shown or (proposal and shown.proposal ~= proposal) then
    return
  end
  current = nil
  inline_edit.close()
  for index = #shown.undo, 1, -1 do
    shown.undo[index]()
  end
  for _, file in ipairs(shown.files) do
    if file.buffer and vim.api.nvim_buf_is_valid(file.buffer) then
      inline_marks.clear(file.buffer)
    end
  end
  if shown.list then
    below.close(shown.list.window)
  end
end

return M
