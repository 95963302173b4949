---The files of a proposal as lines: which one is shown, what happens to each, and what of it stands.
local M = {}

local KINDS = { create = "new", update = "changed", delete = "deleted", rename = "moved" }

---@class north.FileRow
---@field path string
---@field kind? string
---@field is_shown boolean
---@field is_out boolean it was left out
---@field old? string
---@field new? string
---@field hunks? { standing: integer, all: integer }

---@param row north.FileRow
---@return string
local function counts(row)
  if not row.new then
    return ""
  end
  local added, removed = 0, 0
  for _, block in ipairs(vim.diff(row.old or "", row.new, { result_type = "indices" }) --[[@as integer[][] ]]) do
    removed, added = removed + block[2], added + block[4]
  end
  return ("  +%d/-%d"):format(added, removed)
end

---@param row north.FileRow
---@return string
function M.line(row)
  local mark = row.is_shown and "▸" or " "
  local words = row.is_out and "LEFT OUT" or KINDS[row.kind] or "changed"
  local hunks = ""
  if row.hunks and row.hunks.all > 0 and row.hunks.standing < row.hunks.all and not row.is_out then
    hunks = ("  %d of %d hunks"):format(row.hunks.standing, row.hunks.all)
  end
  local name = vim.fn.fnamemodify(row.path, ":~:.")
  name = vim.fn.strtrans(name)
  return ("%s %-8s  %s%s%s"):format(mark, words, name, counts(row), hunks)
end

return M
