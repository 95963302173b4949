---What is kept for the next Neovim, by folder, each kind in a file of its own. Best effort: it is a help, and no record.
local M = {}

local ONLY_THE_USER = 384 -- 0600

---@param name string
---@return string
local function path(name)
  return vim.fs.joinpath(vim.fn.stdpath("state") --[[@as string]], ("north-%s.json"):format(name))
end

---@param name string
---@return table<string, any> what is kept, by folder
function M.read(name)
  local file = io.open(path(name), "r")
  if not file then
    return {}
  end
  local text = file:read("*a")
  file:close()
  local ok, rows = pcall(vim.json.decode, text)
  return ok and type(rows) == "table" and rows or {}
end

---@param name string
---@param all table<string, any>
function M.write(name, all)
  vim.fn.mkdir(vim.fs.dirname(path(name)), "p")
  local temporary = ("%s.%d"):format(path(name), vim.uv.os_getpid())
  local file = vim.uv.fs_open(temporary, "w", ONLY_THE_USER)
  if file then
    vim.uv.fs_write(file, next(all) and vim.json.encode(all) or "{}")
    vim.uv.fs_close(file)
    os.rename(temporary, path(name))
  end
end

return M
