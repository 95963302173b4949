---Files that are loaded for Neovim's language servers alone, which answer about buffers. North's server is not told of
---them until somebody looks at them or changes them: it reads and writes such a file on the disk, as before.
local compat = require("north.compat")

local M = {}

local MARK = "north_hidden"
---@type integer? the buffer that is being loaded: events of that are not the user's
local loading

---Whether a buffer was loaded for this, and nobody has had to do with it since.
---@param buffer integer
---@return boolean
function M.is(buffer)
  return vim.b[buffer][MARK] == true
end

---Whether somebody has to do with it now, who had not before. Asked when it is shown or modified.
---@param buffer integer
---@return boolean
function M.emerges(buffer)
  local is_used = buffer ~= loading and (vim.bo[buffer].modified or #vim.fn.win_findbuf(buffer) > 0)
  if not is_used or not M.is(buffer) then
    return false
  end
  vim.b[buffer][MARK] = nil
  return true
end

---The buffer of a file as the disk has it, loaded without being shown if it is not loaded.
---@param path string
---@return integer? buffer nil where there is no such file
function M.load(path)
  compat.validate("path", path, "string")
  local buffer = vim.fn.bufadd(path)
  if not vim.api.nvim_buf_is_loaded(buffer) then
    if not vim.uv.fs_stat(path) then
      return nil
    end
    vim.b[buffer][MARK] = true
    vim.bo[buffer].autoread = true
    loading = buffer
    vim.cmd(("silent! noswapfile call bufload(%d)"):format(buffer)) -- a swap file would ask
    loading = nil
  elseif M.is(buffer) and not vim.bo[buffer].modified then
    pcall(vim.cmd, ("silent! checktime %d"):format(buffer))
  end
  return buffer
end

return M
