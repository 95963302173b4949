---North, a coding agent: the plugin's public face. Everything else is reached through `:North`.
local compat = require("north.compat")

local M = {}

---Settings, all optional; the plugin works without a call.
---@param options? table see |north-setup|
function M.setup(options)
  require("north.config").set(options)
  require("north.suggestions").attach(require("north.config").current.suggestions)
end

---Take what North proposes at the cursor or near it; where that is out of view, go there first.
---@return boolean whether there was anything, so that a key can do something else
function M.take_suggestion()
  return require("north.suggestions").take()
end

---Take away what North proposes.
---@return boolean whether there was anything
function M.dismiss_suggestion()
  return require("north.suggestions").dismiss()
end

---Ask North; the answer is shown in the chat.
---@param text string
---@param selection? north.Selection
function M.ask(text, selection)
  compat.validate("text", text, "string")
  compat.validate("selection", selection, "table", true)
  require("north.conversation").ask(text, selection)
end

---Stop the running turn and give up the prompts that wait.
function M.stop()
  require("north.conversation").stop()
end

---Open the chat, or close it where it is open.
function M.toggle()
  require("north.conversation").toggle()
end

---Show the question that waits.
function M.review()
  require("north.conversation").review()
end

---How the conversation stands. Cheap, and loads nothing before North is used.
---@return north.Status
function M.status()
  return require("north.status").get()
end

---One line of it, for a status line; empty before North is used.
---@return string
function M.statusline()
  return require("north.status").line()
end

return M
