---Windows across the bottom of the screen: what other windows show stays where it is while they come and go.
local M = {}

---Change windows without moving the texts in the others.
---@generic T
---@param action fun(): T
---@return T
local function quietly(action)
  local kept = vim.o.splitkeep
  vim.o.splitkeep = "screen"
  local ok, result = pcall(action)
  vim.o.splitkeep = kept
  if not ok then
    error(result, 0)
  end
  return result
end

---Open a buffer below all windows, without going there.
---@param buffer integer
---@param height integer
---@return integer window
function M.open(buffer, height)
  return quietly(function()
    return vim.api.nvim_open_win(buffer, false, { split = "below", win = -1, height = height })
  end)
end

---Close windows, unless no other is left.
---@param ... integer
function M.close(...)
  local windows = { ... }
  quietly(function()
    for _, window in ipairs(windows) do
      if vim.api.nvim_win_is_valid(window) and #vim.api.nvim_list_wins() > 1 then
        vim.api.nvim_win_close(window, true)
      end
    end
  end)
end

return M
