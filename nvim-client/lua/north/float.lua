---A buffer in a float in the middle of the screen. It goes when it is left, unless something was changed in it.
local M = {}

---Go to the buffer's window, or open it.
---@param buffer integer
---@param title string
function M.open(buffer, title)
  local window = vim.fn.bufwinid(buffer)
  if window >= 0 then
    vim.api.nvim_set_current_win(window)
    return
  end
  local width, height = math.min(80, vim.o.columns - 4), math.max(5, math.min(20, vim.o.lines - 6))
  local float = vim.api.nvim_open_win(buffer, true, {
    relative = "editor",
    width = width,
    height = height,
    row = math.floor((vim.o.lines - height) / 2) - 1,
    col = math.floor((vim.o.columns - width) / 2),
    border = "rounded",
    title = title,
  })
  vim.api.nvim_create_autocmd("WinLeave", {
    buffer = buffer,
    desc = "North: a float that is left is not in the way",
    callback = function()
      vim.schedule(function()
        if not vim.api.nvim_win_is_valid(float) or vim.bo[buffer].modified or vim.fn.getcmdwintype() ~= "" then
          return
        end
        if vim.api.nvim_win_get_config(0).relative == "" then -- it is no other float, such as a list
          vim.api.nvim_win_close(float, false)
        end
      end)
      return not vim.api.nvim_win_is_valid(float)
    end,
  })
end

return M
