---A text to read, in a tab of its own.
local compat = require("north.compat")

local M = {}

---@param text string
---@param filetype? string Markdown is shown as such, with long lines wrapped between words
function M.open(text, filetype)
  compat.validate("text", text, "string")
  vim.cmd.tabnew()
  vim.bo.buftype, vim.bo.bufhidden, vim.bo.swapfile = "nofile", "wipe", false
  pcall(vim.api.nvim_buf_set_name, 0, ("north://text/%d"):format(vim.api.nvim_get_current_buf()))
  vim.api.nvim_buf_set_lines(0, 0, -1, true, vim.split(text, "\n", { trimempty = true }))
  if filetype then
    vim.bo.filetype = filetype
  end
  vim.bo.modified, vim.bo.modifiable = false, false
  if filetype == "markdown" then
    if not pcall(vim.treesitter.start, 0, "markdown") then
      vim.bo.syntax = "markdown"
    end
    vim.wo[0][0].conceallevel, vim.wo[0][0].linebreak = 2, true
  end
  vim.keymap.set("n", "q", "<cmd>close<cr>", { buffer = 0, desc = "Close" })
end

return M
