---A proposed edit inside the user's own files: what goes is marked, what comes stands below it as virtual text, and the
---files themselves are not touched. Hunks and files can be left out. Its keys hold only in the files that are reviewed,
---and only after the user has gone there.
local compat = require("north.compat")
local config = require("north.config")
local deciding = require("north.deciding")
local file_rows = require("north.file_rows")
local hidden = require("north.hidden")
local keys = require("north.keys")
local texts = require("north.texts")

local M = {}

local namespace = vim.api.nvim_create_namespace("north.inline")
local LIST, MOST_ROWS = "north://files", 8

---@class north.Block lines that change
---@field row integer the first line that goes, or the one below which lines come, from 0; -1 above the first
---@field removed integer
---@field added string[]
---@field hunk string the server's id

---@class north.InlineFile
---@field path string
---@field kind? string
---@field diff? north.Diff
---@field hunks string[]
---@field buffer? integer where it is shown; nil for what has no text to compare
---@field preview? integer the text of a new or a deleted file, where it was looked at
---@field blocks north.Block[]

---@class north.Inline : north.Decidable
---@field proposal north.Proposal
---@field files north.InlineFile[]
---@field keys north.Key[]
---@field out table<string, boolean> files that were left out, by path
---@field left table<string, boolean> hunks that were left out, by path and id
---@field active boolean the keys hold
---@field windows table<integer, boolean> those that show the keys
---@field undo fun()[] what takes back what was done to buffers and windows
---@field list? { buffer: integer, window: integer }

---@type north.Inline?
local current

---@param path string
---@param hunk string
---@return string
local function name_of(path, hunk)
  return path .. "\0" .. hunk
end

---@param old string[]
---@param new string[]
---@param hunks { id: string, oldStart: integer, oldLines: integer }[]
---@return north.Block[]? blocks nil where one belongs to no hunk of the server's
local function blocks_of(old, new, hunks)
  local found = {}
  local one, other = table.concat(old, "\n") .. "\n", table.concat(new, "\n") .. "\n"
  for _, block in ipairs(vim.diff(one, other, { result_type = "indices" }) --[[@as integer[][] ]]) do
    local start, count, from, added = unpack(block)
    local hunk = vim.iter(hunks):find(function(hunk)
      local first, last = hunk.oldStart or 0, (hunk.oldStart or 0) + math.max(hunk.oldLines or 0, 1) - 1
      return start >= first - 1 and start + math.max(count, 1) - 1 <= last + 1
    end)
    if not hunk then
      return nil
    end
    found[#found + 1] = {
      row = start - 1,
      removed = count,
      added = vim.list_slice(new, from, from + added - 1),
      hunk = hunk.id,
    }
  end
  return found
end

---@param diff north.Diff
---@return integer? buffer of the file, if its text is the one that the edit was made from
local function buffer_with(diff)
  local buffer = hidden.load(diff.path)
  if not buffer then
    return nil
  end
  local old = texts.lines(diff.oldText, texts.form(diff.oldText))
  return vim.deep_equal(vim.api.nvim_buf_get_lines(buffer, 0, -1, true), old) and buffer or nil
end

---@param proposal north.Proposal
---@return north.InlineFile[]? files nil where it cannot be shown in the files
local function files_of(proposal)
  local found, is_any = {}, false
  local by_path = {}
  for _, diff in ipairs(proposal.diffs) do
    by_path[diff.path] = diff
  end
  for _, file in ipairs(proposal.files) do
    local diff = by_path[file.path]
    local ids = vim.tbl_map(function(hunk)
      return hunk.id
    end, file.hunks)
    local one = { path = file.path, kind = file.kind, diff = diff, hunks = ids, blocks = {} }
    if diff and diff.oldText and file.kind == "update" then
      one.buffer = buffer_with(diff)
      local form = texts.form(diff.oldText)
      local lines = texts.lines(diff.newText, form)
      local blocks = one.buffer and blocks_of(texts.lines(diff.oldText, form), lines, file.hunks)
      if not blocks or #blocks == 0 then
        return nil
      end
      one.blocks, is_any = blocks, true
    end
    found[#found + 1] = one
  end
  return is_any and found or nil
end

---@param shown north.Inline
---@param file north.InlineFile
---@param hunk string
---@return boolean
local function is_left(shown, file, hunk)
  return shown.out[file.path] or shown.left[name_of(file.path, hunk)] or false
end

---How many cells a line of a buffer has where it is shown, in the narrowest of its windows.
---@param buffer integer
---@return integer
local function width_of(buffer)
  local width = vim.o.columns
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    local info = vim.fn.getwininfo(window)[1]
    width = math.min(width, info.width - info.textoff)
  end
  return math.max(width, 10)
end

---A proposed line as virtual text, which Neovim does not wrap: in as many parts as it needs, with what is not printable
---made visible, so that nothing is accepted unseen.
---@param line string
---@param width integer
---@param tabstop integer
---@return string[]
local function parts_of(line, width, tabstop)
  local parts, part, used, column = {}, "", 0, 0
  for _, character in ipairs(vim.fn.split(line, "\\zs")) do
    local text = character
    if character == "\t" then
      text = (" "):rep(tabstop - column % tabstop)
    else
      text = vim.fn.strtrans(character)
    end
    local cells = vim.fn.strdisplaywidth(text)
    if used + cells > width then
      parts[#parts + 1] = part
      part, used = "↪ ", 2
    end
    part, used, column = part .. text, used + cells, column + cells
  end
  parts[#parts + 1] = part == "" and " " or part
  return parts
end

---@param shown north.Inline
---@param file north.InlineFile
local function draw_file(shown, file)
  local width, tabstop = width_of(file.buffer), vim.bo[file.buffer].tabstop
  vim.api.nvim_buf_clear_namespace(file.buffer, namespace, 0, -1)
  for _, block in ipairs(file.blocks) do
    local left = is_left(shown, file, block.hunk)
    for row = block.row, block.row + block.removed - 1 do
      local group = left and "NorthLeftOut" or "NorthRemoved"
      vim.api.nvim_buf_set_extmark(file.buffer, namespace, row, 0, { line_hl_group = group, strict = false })
    end
    local lines = {}
    for _, line in ipairs(left and {} or block.added) do
      for _, part in ipairs(parts_of(line, width, tabstop)) do
        lines[#lines + 1] = { { part, "NorthAdded" } }
      end
    end
    if left and #block.added > 0 then
      local count = #block.added
      local words = count == 1 and "1 proposed line is left out" or ("%d proposed lines are left out"):format(count)
      lines = { { { words, "NorthLeftOut" } } }
    end
    if #lines > 0 then
      local row = block.removed > 0 and block.row + block.removed - 1 or block.row
      vim.api.nvim_buf_set_extmark(file.buffer, namespace, math.max(row, 0), 0, {
        virt_lines = lines,
        virt_lines_above = row < 0,
        strict = false,
      })
    end
  end
end

---@param shown north.Inline
---@return string[]
local function list_lines(shown)
  return vim.tbl_map(function(file)
    local standing = #vim.tbl_filter(function(hunk)
      return not is_left(shown, file, hunk)
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
      draw_file(shown, file)
    end
  end
  local list = shown.list
  if list and vim.api.nvim_buf_is_valid(list.buffer) then
    vim.bo[list.buffer].modifiable = true
    vim.api.nvim_buf_set_lines(list.buffer, 0, -1, true, list_lines(shown))
    vim.bo[list.buffer].modifiable = false
  end
end

---What stands, for the server; nil for everything, false for nothing.
---@param shown north.Inline
---@return north.Extra|false|nil
local function what_stands(shown)
  local hunks, is_all, is_any = {}, true, false
  for _, file in ipairs(shown.files) do
    local ids = vim.tbl_filter(function(hunk)
      return not is_left(shown, file, hunk)
    end, file.hunks)
    local stands = not shown.out[file.path] and (#ids > 0 or #file.hunks == 0)
    if stands then
      hunks[file.path], is_any = ids, true
    end
    is_all = is_all and stands and #ids == #file.hunks
  end
  if is_all then
    return nil
  end
  return is_any and { hunks = hunks } or false
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
  for row = 0, vim.api.nvim_buf_line_count(buffer) - 1 do
    local group = is_deleted and "NorthRemoved" or "NorthAdded"
    vim.api.nvim_buf_set_extmark(buffer, namespace, row, 0, { line_hl_group = group })
  end
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
    vim.notify("North: this file has no text to show", vim.log.levels.INFO)
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

---Leave the hunk under the cursor out, or take it in again.
---@param shown north.Inline
local function toggle_hunk(shown)
  local file = file_here(shown)
  local row = vim.fn.line(".") - 1
  for _, block in ipairs(file and file.buffer and file.blocks or {}) do
    local last = block.row + math.max(block.removed, 1) - 1
    if row >= math.max(block.row, 0) and row <= math.max(last, 0) then
      local name = name_of(file.path, block.hunk)
      shown.left[name] = not shown.left[name] or nil
      draw(shown)
      return
    end
  end
  vim.notify("North: no hunk begins or goes here", vim.log.levels.INFO)
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
        return what_stands(shown)
      end, function()
        return current == shown
      end)
    end, key.label)
  end
  local own = {
    [set.hunk] = { toggle_hunk, "leave this hunk out, or take it in" },
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
  local window = vim.api.nvim_open_win(buffer, false, { split = "below", win = -1, height = height })
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
    local files = files_of(proposal)
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
      vim.notify("North: " .. note:gsub("%s*\n%s*", " "), vim.log.levels.WARN)
    end
    activate(current --[[@as north.Inline]])
  end
  return true
end

---Take all marks and keys away; this decides nothing.
function M.close()
  local shown = current
  if not shown then
    return
  end
  current = nil
  for index = #shown.undo, 1, -1 do
    shown.undo[index]()
  end
  for _, file in ipairs(shown.files) do
    if file.buffer and vim.api.nvim_buf_is_valid(file.buffer) then
      vim.api.nvim_buf_clear_namespace(file.buffer, namespace, 0, -1)
    end
  end
  local list = shown.list
  if list and vim.api.nvim_win_is_valid(list.window) then
    pcall(vim.api.nvim_win_close, list.window, true)
  end
end

return M
