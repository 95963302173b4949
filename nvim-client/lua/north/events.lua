---What happens, for the user's own configuration: `User North*` autocommands.
local M = {}

---@alias north.EventName
---| "Started" the conversation is ready
---| "TurnStart" a prompt was sent
---| "TurnEnd" it was answered; data.stop_reason
---| "Question" an edit or a command waits; data.kind, data.title
---| "Answered" the question was decided; data.title
---| "Changed" something that `require("north").status()` tells

---@param name north.EventName
---@param data? table
function M.fire(name, data)
  vim.api.nvim_exec_autocmds("User", { pattern = "North" .. name, modeline = false, data = data })
end

return M
