---Which conversations were at work in each folder, and in which Neovim: once that has ended, the next `:North` there
---goes on with them.
local kept = require("north.kept")

local M = {}

---@class north.Running
---@field id string
---@field pid? integer the Neovim in which it is at work; an earlier version of the plugin named none
---@field since? string when that began, where the system tells: another process may get its number

local NAME = "running"

---When a process began, as Linux tells it; nil elsewhere, and for one that has ended.
---@param pid integer
---@return string?
local function beginning(pid)
  local file = io.open(("/proc/%d/stat"):format(pid), "r")
  if not file then
    return nil
  end
  local fields = vim.split((file:read("*a") or ""):gsub("^.*%) ", ""), " ") -- behind the name, which may be anything
  file:close()
  return fields[1] ~= "Z" and fields[20] or nil
end

---Whether another Neovim, which has not ended, is at work on it.
---@param row north.Running
---@return boolean
local function is_with_another(row)
  local pid = row.pid
  if type(pid) ~= "number" or pid < 1 or pid ~= math.floor(pid) or pid == vim.uv.os_getpid() then
    return false
  end
  local began = type(row.since) == "string" and row.since or nil
  return vim.uv.kill(pid, 0) == 0 and (began == nil or began == beginning(pid))
end

---@param of_folder any what is kept of a folder
---@return north.Running[]
local function rows_of(of_folder)
  local rows = {}
  for _, one in ipairs(vim.islist(of_folder) and of_folder or { of_folder }) do
    local row = type(one) == "table" and one or { id = one }
    if type(row.id) == "string" and row.id:match("^[%w_-]+$") then
      rows[#rows + 1] = row
    end
  end
  return rows
end

---The conversations that were at work in a folder, but for those that are so in another Neovim.
---@param root string
---@return string[] ids
function M.of(root)
  local ids = {}
  for _, row in ipairs(rows_of(kept.read(NAME)[root])) do
    if not is_with_another(row) then
      ids[#ids + 1] = row.id
    end
  end
  return ids
end

---Remember whether a conversation is at work here; without it, it is found in the list of all.
---@param root string
---@param id string
---@param works boolean
function M.note(root, id, works)
  local all = kept.read(NAME)
  local rows, pid = rows_of(all[root]), vim.uv.os_getpid()
  local known = vim.iter(rows):find(function(row)
    return row.id == id
  end)
  local is_noted = known ~= nil and known.pid == pid and known.since == beginning(pid)
  if works and is_noted or not works and (not known or is_with_another(known)) then
    return
  end
  rows = vim.tbl_filter(function(row)
    return row ~= known
  end, rows)
  if works then
    rows[#rows + 1] = { id = id, pid = pid, since = beginning(pid) }
  end
  all[root] = #rows > 0 and rows or nil
  kept.write(NAME, all)
end

return M
