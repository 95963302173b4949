---The lines that come at one place of a reviewed file, in a float to change them there: `:w` takes them.
local texts = require("north.texts")

local M = {}

local NAME = "north://lines"
local MOST, LEAST_WIDTH = 15, 44

---Close the float; what was not written there is lost.
function M.close()
  local buffer = vim.fn.bufnr("^" .. NAME .. "$")
  if buffer ~= -1 then
    pcall(vim.api.nvim_buf_delete, buffer, { force = true })
  end
end

---@param buffer integer
---@return string[]
local function lines_of(buffer)
  local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, true)
  return #lines == 1 and lines[1] == "" and {} or lines
end

---Have the lines of a block changed, which may be none.
---@param file north.InlineFile
---@param block north.Block
---@param on_changed fun()
function M.open(file, block, on_changed)
  M.close()
  local buffer = vim.api.nvim_create_buf(false, false)
  vim.api.nvim_buf_set_name(buffer, NAME)
  vim.bo[buffer].buftype, vim.bo[buffer].bufhidden, vim.bo[buffer].swapfile = "acwrite", "wipe", false
  vim.api.nvim_buf_set_lines(buffer, 0, -1, true, block.added)
  vim.bo[buffer].modified = false
  texts.dress(buffer, file.path)
  vim.keymap.set("n", "q", "<cmd>close!<cr>", { buffer = buffer, nowait = true, desc = "Close" })
  vim.api.nvim_create_autocmd("BufWriteCmd", {
    buffer = buffer,
    desc = "North: take the lines",
    callback = function()
      local lines = lines_of(buffer)
      if not vim.deep_equal(lines, block.added) then
        block.added, block.is_changed = lines, true
      end
      vim.bo[buffer].modified = false
      on_changed()
      vim.schedule(M.close)
    end,
  })
  local width = LEAST_WIDTH
  for _, line in ipairs(block.added) do
    width = math.max(width, vim.fn.strdisplaywidth(line) + 1)
  end
  vim.api.nvim_open_win(buffer, true, {
    relative = "cursor",
    row = math.max(block.removed, 1),
    col = 0,
    width = math.min(width, vim.o.columns - 4),
    height = math.max(3, math.min(#block.added + 1, MOST)),
    border = "rounded",
    title = " What comes here · :w takes it · q closes ",
  })
end

return M
