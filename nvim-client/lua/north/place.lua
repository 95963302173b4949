---Where the user is while the server is asked: what is opened by its answer is opened only there. Who has gone on to
---another window, or types by now, is told instead.
local messages = require("north.messages")

local M = {}

---Whether keys are typed into something now, which was not so before.
---@param before string the mode of that time
---@return boolean
local function has_begun_to_type(before)
  local mode = vim.api.nvim_get_mode().mode
  return vim.fn.getcmdwintype() ~= "" or (mode:sub(1, 1) ~= "n" and mode ~= before)
end

---Remember where the user is.
---@return fun(): boolean is_still whether that is where the user still is
function M.here()
  local window, buffer, mode = vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf(), vim.api.nvim_get_mode().mode
  local below, below_buffer
  if vim.api.nvim_win_get_config(window).relative ~= "" then -- a picker that is about to close
    below = vim.fn.win_getid(vim.fn.winnr("#"))
    below_buffer = below ~= 0 and vim.api.nvim_win_get_buf(below) or nil
  end
  return function()
    if has_begun_to_type(mode) then
      return false
    elseif below_buffer and not vim.api.nvim_win_is_valid(window) then
      window, buffer = below, below_buffer
    end
    return vim.api.nvim_get_current_win() == window and vim.api.nvim_get_current_buf() == buffer
  end
end

---Remember where the user is, to open something there later.
---@param what string what that is, for the message to who has gone on
---@return fun(open: fun())
function M.stay(what)
  local is_still = M.here()
  return function(open)
    if is_still() then
      open()
    else
      messages.tell(("North: %s is not opened where you are now; ask for it again"):format(what), vim.log.levels.INFO)
    end
  end
end

return M
