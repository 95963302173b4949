---What the next request has, part by part, in a buffer that belongs to no file. The server tells it.
local refused = require("north.answers").refused

local M = {}

---@param ask north.Ask
function M.show(ask)
  ask("_north/context", vim.empty_dict(), function(error, result)
    if error or not result then
      refused(error)
      return
    end
    vim.cmd.tabnew()
    vim.bo.buftype, vim.bo.bufhidden, vim.bo.swapfile = "nofile", "wipe", false
    vim.api.nvim_buf_set_lines(0, 0, -1, true, vim.split(result.markdown, "\n", { trimempty = true }))
    vim.bo.filetype, vim.bo.modified, vim.bo.modifiable = "markdown", false, false
  end)
end

return M
