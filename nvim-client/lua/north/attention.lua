---Whether the user works in a file: what takes the cursor then would catch keys that were meant for the file.
local M = {}

local namespace = vim.api.nvim_create_namespace("north.attention")
local is_busy, is_listening = false, false

---The user has turned to North: what comes next may take the cursor.
function M.reset()
  is_busy = false
  if is_listening then
    return
  end
  is_listening = true
  vim.on_key(function(_, typed)
    if typed and typed ~= "" and not is_busy and vim.bo.buftype == "" then
      is_busy = true
    end
  end, namespace)
end

---@return boolean
function M.is_free()
  return not is_busy
end

return M
