---North, a coding agent: the plugin's public face. Everything else is reached through `:North`.
local M = {}

---Settings, all optional; the plugin works without a call.
---@param options? table see |north-setup|
function M.setup(options)
  require("north.config").set(options)
end

---Ask North; the answer is shown in the chat.
---@param text string
---@param selection? north.Selection
function M.ask(text, selection)
  vim.validate("text", text, "string")
  vim.validate("selection", selection, "table", true)
  require("north.conversation").ask(text, selection)
end

---Stop the running turn and give up the prompts that wait.
function M.stop()
  require("north.conversation").stop()
end

return M
