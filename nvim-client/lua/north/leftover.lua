---What was sent in a Neovim that ended before its server could have it: it is in the window to type in the next time.
local kept = require("north.kept")
local live = require("north.live")
local state = require("north.state")
local unsent = require("north.unsent")

local M = {}

local NAME = "unsent"

---@param one any
---@return boolean
local function is_attachment(one)
  return type(one) == "table" and type(one.label) == "string" and type(one.block) == "table"
end

---@param row any
---@return north.Unsent?
local function read(row)
  if type(row) ~= "table" or type(row.text) ~= "string" then
    return nil
  end
  local attached = type(row.attached) == "table" and vim.tbl_filter(is_attachment, row.attached) or {}
  return { text = row.text, attached = attached }
end

---Put what is left over from earlier in this folder into the window to type in, once.
---@param root string
function M.take_back(root)
  local all = kept.read(NAME)
  local rows = all[root]
  if type(rows) == "table" then
    all[root] = nil
    kept.write(NAME, all)
    unsent.take_back(vim.iter(vim.list_slice(rows)):map(read):totable())
  end
end

---Keep what waits for a server that it will not reach any more.
local function keep()
  local all, is_changed = kept.read(NAME), false
  for _, one in ipairs(live.all()) do
    live.with(one, function()
      for _, item in ipairs(state.root and state.waiting or {}) do
        if item.text then
          local rows = type(all[state.root]) == "table" and all[state.root] or {}
          all[state.root] = vim.list_extend(rows, { { text = item.text, attached = item.attached } })
          is_changed = true
        end
      end
    end)
  end
  if is_changed then
    kept.write(NAME, all)
  end
end

vim.api.nvim_create_autocmd("VimLeavePre", {
  group = vim.api.nvim_create_augroup("north.leftover", { clear = true }),
  desc = "North keeps what was to be sent",
  callback = keep,
})

return M
