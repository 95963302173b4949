---What the server answers to the plugin's own requests.
local messages = require("north.messages")

local M = {}

---Tell the user why a request failed.
---@param error table? none if there was no answer
function M.refused(error)
  messages.tell("North: " .. (error and error.message or "no answer"), vim.log.levels.ERROR)
end

return M
