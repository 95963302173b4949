---A text to read, in a tab of its own.
local compat = require("north.compat")

local M = {}

---@param text string
---@param filetype? string
function M.open(text, filetype)
  compat.validate("text", text, "string")
  vim.cmd.tabnew()
  vim.bo.buftype, vim.bo.bufhidden, vim.bo.swapfile = "nofile", "wipe", false
  vim.api.nvim_buf_set_lines(0, 0, -1, true, vim.split(text, "\n", { trimempty = true }))
  if filetype then
    vim.bo.filetype = filetype
  end
  vim.bo.modified, vim.bo.modifiable = false, false
end

return M
