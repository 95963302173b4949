---Messages that come by themselves. They fit into the last line of the screen, since Neovim waits for a key after one that
---does not; all of it is in `:messages`.
local M = {}

local AGAIN_MS = 200
local GROUPS = { [vim.log.levels.WARN] = "WarningMsg", [vim.log.levels.ERROR] = "ErrorMsg" }

---Whether messages are shown by Neovim itself: a plugin that shows them has room.
---@return boolean
local function is_plain()
  return type(vim.notify) == "function" and debug.getinfo(vim.notify, "S").source:find("^@vim/_") ~= nil
end

---@param words string
---@param cells integer
---@return string
local function cut(words, cells)
  local shown = vim.fn.strcharpart(words, 0, cells)
  while vim.fn.strdisplaywidth(shown) > cells do
    shown = vim.fn.strcharpart(shown, 0, vim.fn.strchars(shown) - 1)
  end
  return shown
end

---@param words string
---@param level integer
---@param ending string
local function show(words, level, ending)
  local whole = words .. ending
  if not is_plain() or vim.fn.strdisplaywidth(whole) <= vim.v.echospace then
    vim.notify(whole, level)
    return
  end
  local more = vim.o.more
  vim.o.more = false
  -- One line of commands: Neovim waits for a key between two.
  pcall(vim.cmd, ("echomsg %s | redraw"):format(vim.fn.string(whole)))
  vim.o.more = more
  local room = vim.v.echospace - vim.fn.strdisplaywidth(ending) - 1
  vim.api.nvim_echo({ { cut(words, math.max(room, 1)) .. "…" .. ending, GROUPS[level] } }, false, {})
end

---Show a message; while something is typed into the command line, or another one waits for a key, afterwards.
---@param words string
---@param level? integer
---@param ending? string what stays to be seen of it however long it is
function M.tell(words, level, ending)
  if vim.api.nvim_get_mode().mode:find("^[cr]") then
    vim.defer_fn(function()
      M.tell(words, level, ending)
    end, AGAIN_MS)
    return
  end
  words = words:gsub("^North: invalid params: ", "North: "):gsub("%s*\n%s*", " ⏎ ")
  show(words, level or vim.log.levels.INFO, ending or "")
end

return M
