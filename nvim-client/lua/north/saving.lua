---Writing what an accepted edit has changed, so that the command which runs next reads it.
local compat = require("north.compat")
local config = require("north.config")

local M = {}

---@param uri string
---@return integer?
local function buffer_of(uri)
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buffer) and vim.uri_from_bufnr(buffer) == uri then
      return buffer
    end
  end
end

---Whether somebody else has written the file since it was read. Nothing is asked, and nothing read again.
---@param buffer integer
---@return boolean
local function is_changed_on_disk(buffer)
  local changed = false
  local id = vim.api.nvim_create_autocmd("FileChangedShell", {
    buffer = buffer,
    desc = "North only wants to know",
    callback = function()
      changed = changed or vim.v.fcs_reason ~= "time"
      vim.v.fcs_choice = ""
    end,
  })
  pcall(vim.cmd, ("checktime %d"):format(buffer))
  vim.api.nvim_del_autocmd(id)
  return changed
end

---@param file { uri: string, version: integer }
---@return string? problem
local function save(file)
  local buffer = buffer_of(file.uri)
  if not buffer then
    return "it is not open in the editor any more"
  elseif vim.lsp.util.buf_versions[buffer] ~= file.version then
    return "changed since"
  elseif not vim.bo[buffer].modified then
    return nil
  elseif not config.current.save then
    return "the setting save is off"
  elseif vim.bo[buffer].readonly then
    return "the buffer is read-only"
  elseif is_changed_on_disk(buffer) then
    return "the file on the disk has been changed by somebody else"
  end
  local ok, problem = pcall(vim.api.nvim_buf_call, buffer, function()
    vim.cmd("silent keepalt lockmarks write!") -- what its question would be about was looked at above
  end)
  if not ok then
    return (tostring(problem):gsub("^.-(E%d+:)", "%1"))
  end
  return vim.bo[buffer].modified and "the editor did not write it" or nil
end

---Answer `_north/saveFiles`: only what nobody has changed since is written.
---@param files { uri: string, version: integer }[]
---@return { saved: string[], failed: { uri: string, reason: string }[] }
function M.save(files)
  compat.validate("files", files, "table")
  local result = { saved = {}, failed = {} }
  for _, file in ipairs(files) do
    local problem = save(file)
    if problem then
      table.insert(result.failed, { uri = file.uri, reason = problem })
    else
      table.insert(result.saved, file.uri)
    end
  end
  return result
end

return M
