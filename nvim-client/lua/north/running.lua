---Which conversation was at work in each folder when Neovim ended: the next `:North` there goes on with it.
local M = {}

---@return string
local function path()
  return vim.fs.joinpath(vim.fn.stdpath("state") --[[@as string]], "north-running.json")
end

---@return table<string, string>
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

---The conversation that was at work in a folder.
---@param root string
---@return string?
function M.of(root)
  local id = read()[root]
  return type(id) == "string" and id:match("^[%w_-]+$") and id or nil
end

---Remember, or forget with nil. Best effort: without it, the conversation is found in the list of all.
---@param root string
---@param id? string
function M.note(root, id)
  local rows = read()
  if rows[root] == id then
    return
  end
  rows[root] = id
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
