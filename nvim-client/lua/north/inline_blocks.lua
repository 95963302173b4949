---A proposed edit as blocks of lines of the user's own files: what goes and what comes where, what of it was left out or
---changed, and what stands in the end.
local hidden = require("north.hidden")
local texts = require("north.texts")

local M = {}

---@class north.Block lines that change
---@field row integer the first line that goes, or the one below which lines come, from 0; -1 above the first
---@field removed integer
---@field added string[] as they are proposed, or as the user has changed them
---@field is_changed? boolean the user has changed them
---@field hunk string the server's id

---@class north.InlineFile
---@field path string
---@field kind? string
---@field diff? north.Diff
---@field hunks string[]
---@field buffer? integer where it is shown; nil for what has no text to compare
---@field preview? integer the text of a new or a deleted file, where it was looked at
---@field blocks north.Block[]

---@class north.Chosen what the user made of a proposal
---@field files north.InlineFile[]
---@field out table<string, boolean> files that were left out, by path
---@field left table<string, boolean> hunks that were left out, by path and id

---@param path string
---@param hunk string
---@return string
function M.name_of(path, hunk)
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
function M.files_of(proposal)
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

---@param shown north.Chosen
---@param file north.InlineFile
---@param hunk string
---@return boolean
function M.is_left(shown, file, hunk)
  return shown.out[file.path] or shown.left[M.name_of(file.path, hunk)] or false
end

---The block that a line of the file stands for: one that goes, or the one below which lines come.
---@param file north.InlineFile
---@param row integer from 0
---@return north.Block?
function M.at(file, row)
  for _, block in ipairs(file.buffer and file.blocks or {}) do
    local last = block.row + math.max(block.removed, 1) - 1
    if row >= math.max(block.row, 0) and row <= math.max(last, 0) then
      return block
    end
  end
end

---The whole text that a file gets, where the user has changed lines that come.
---@param shown north.Chosen
---@param file north.InlineFile
---@return string?
local function changed_text(shown, file)
  local is_changed = vim.iter(file.blocks):any(function(block)
    return block.is_changed and not M.is_left(shown, file, block.hunk)
  end)
  if not is_changed then
    return nil
  end
  local diff = file.diff --[[@as north.Diff]]
  local old, lines, at = texts.lines(diff.oldText, texts.form(diff.oldText)), {}, 1
  for _, block in ipairs(file.blocks) do
    if not M.is_left(shown, file, block.hunk) then
      local first = block.removed > 0 and block.row + 1 or block.row + 2 -- the first line, from 1, that is not before it
      vim.list_extend(lines, old, at, first - 1)
      vim.list_extend(lines, block.added)
      at = first + block.removed
    end
  end
  vim.list_extend(lines, old, at)
  return texts.joined(lines, texts.form(diff.newText))
end

---What stands, for the server; nil for everything, false for nothing.
---@param shown north.Chosen
---@return north.Extra|false|nil
function M.what_stands(shown)
  local hunks, changed, is_all, is_any = {}, {}, true, false
  for _, file in ipairs(shown.files) do
    local ids = vim.tbl_filter(function(hunk)
      return not M.is_left(shown, file, hunk)
    end, file.hunks)
    local text = changed_text(shown, file)
    local is_as_before = text ~= nil and file.diff ~= nil and text == file.diff.oldText
    local stands = not shown.out[file.path] and not is_as_before and (#ids > 0 or #file.hunks == 0)
    if stands then
      hunks[file.path], changed[file.path], is_any = ids, text, true
    end
    is_all = is_all and stands and #ids == #file.hunks and text == nil
  end
  if is_all then
    return nil
  end
  return is_any and { hunks = hunks, texts = next(changed) and changed or nil } or false
end

return M
