---What a proposed edit looks like inside a file: marks on the lines that go, and the lines that come as virtual text.
local blocks = require("north.inline_blocks")

local M = {}

local namespace = vim.api.nvim_create_namespace("north.inline")

---How many cells a line of a buffer has where it is shown, in the narrowest of its windows.
---@param buffer integer
---@return integer
local function width_of(buffer)
  local width = vim.o.columns
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    local info = vim.fn.getwininfo(window)[1]
    width = math.min(width, info.width - info.textoff)
  end
  return math.max(width, 10)
end

---A proposed line as virtual text, which Neovim does not wrap: in as many parts as it needs, with what is not printable
---made visible, so that nothing is accepted unseen.
---@param line string
---@param width integer
---@param tabstop integer
---@return string[]
local function parts_of(line, width, tabstop)
  local parts, part, used, column = {}, "", 0, 0
  for _, character in ipairs(vim.fn.split(line, "\\zs")) do
    local text = character
    if character == "\t" then
      text = (" "):rep(tabstop - column % tabstop)
    else
      text = vim.fn.strtrans(character)
    end
    local cells = vim.fn.strdisplaywidth(text)
    if used + cells > width then
      parts[#parts + 1] = part
      part, used = "↪ ", 2
    end
    part, used, column = part .. text, used + cells, column + cells
  end
  parts[#parts + 1] = part == "" and " " or part
  return parts
end

---Draw what becomes of a file, in its buffer.
---@param shown north.Chosen
---@param file north.InlineFile
function M.draw(shown, file)
  local width, tabstop = width_of(file.buffer), vim.bo[file.buffer].tabstop
  vim.api.nvim_buf_clear_namespace(file.buffer, namespace, 0, -1)
  for _, block in ipairs(file.blocks) do
    local left = blocks.is_left(shown, file, block.hunk)
    for row = block.row, block.row + block.removed - 1 do
      local group = left and "NorthLeftOut" or "NorthRemoved"
      vim.api.nvim_buf_set_extmark(file.buffer, namespace, row, 0, { line_hl_group = group, strict = false })
    end
    local lines = {}
    for _, line in ipairs(left and {} or block.added) do
      for _, part in ipairs(parts_of(line, width, tabstop)) do
        lines[#lines + 1] = { { part, "NorthAdded" } }
      end
    end
    if left and #block.added > 0 then
      local count = #block.added
      local words = count == 1 and "1 proposed line is left out" or ("%d proposed lines are left out"):format(count)
      lines = { { { words, "NorthLeftOut" } } }
    end
    if #lines > 0 then
      local row = block.removed > 0 and block.row + block.removed - 1 or block.row
      vim.api.nvim_buf_set_extmark(file.buffer, namespace, math.max(row, 0), 0, {
        virt_lines = lines,
        virt_lines_above = row < 0,
        strict = false,
      })
    end
  end
end

---Mark a whole buffer as what comes, or as what goes.
---@param buffer integer
---@param group string
function M.draw_whole(buffer, group)
  for row = 0, vim.api.nvim_buf_line_count(buffer) - 1 do
    vim.api.nvim_buf_set_extmark(buffer, namespace, row, 0, { line_hl_group = group })
  end
end

---@param buffer integer
function M.clear(buffer)
  vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
end

return M
