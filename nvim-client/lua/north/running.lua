---Which conversations were at work in each folder when Neovim ended: the next `:North` there goes on with them.
local M = {}

---@return string
local function path()
  return vim.fs.joinpath(vim.fn.stdpath("state") --[[@as string]], "north-running.json")
end

---@return table<string, string|string[]> ids by folder
local function read()
  local file = io.open(path(), "r")
  if not file then
    return {}
  end
  local text = file:read("*a")
  file:close()
  local ok, rows = pcall(vim.json.decode, text)
  return ok and type(rows) == "table" and rows or {}
end

---The conversations that were at work in a folder.
---@param root string
---@return string[] ids
function M.of(root)
  local row = read()[root]
  return vim.tbl_filter(function(id)
    return type(id) == "string" and id:match("^[%w_-]+$") ~= nil
  end, type(row) == "table" and row or { row })
end

---Remember whether a conversation is at work. Best effort: without it, it is found in the list of all.
---@param root string
---@param id string
---@param works boolean
function M.note(root, id, works)
  local ids = M.of(root)
  if vim.list_contains(ids, id) == works then
    return
  end
  local rest = vim.tbl_filter(function(other)
    return other ~= id
  end, ids)
  if works then
    rest[#rest + 1] = id
  end
  local rows = read()
  rows[root] = #rest > 0 and rest or nil
  vim.fn.mkdir(vim.fs.dirname(path()), "p")
  local temporary = ("%s.%d"):format(path(), vim.uv.os_getpid())
  local file = io.open(temporary, "w")
  if file then
    file:write(next(rows) and vim.json.encode(rows) or "{}")
    file:close()
    os.rename(temporary, path())
  end
end

return M
