---A buffer in a float in the middle of the screen.
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
  vim.api.nvim_open_win(buffer, true, {
    relative = "editor",
    width = width,
    height = height,
    row = math.floor((vim.o.lines - height) / 2) - 1,
    col = math.floor((vim.o.columns - width) / 2),
    border = "rounded",
    title = title,
  })
end

return M
