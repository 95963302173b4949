---What the user can set, with its defaults.
local M = {}

---@class north.Keys
---@field accept string accepts a proposed edit
---@field always string accepts it and asks no more, where that is offered
---@field reject string rejects a proposed edit
---@field comment string rejects it and asks what to tell North
---@field next string the next file of a proposal
---@field previous string the previous file of a proposal
---@field edit string changes a command before it runs
---@field leave string leaves the shown file of a proposal out, or takes it in again
---@field details string in the chat: what the tool call under the cursor said

---@class north.Config
---@field cmd? string[] the server's whole command, such as { "north-lsp", "lsp" }
---@field env? table<string, string> added to the server's environment
---@field width number the chat's width: columns, or a share of the screen when below 1
---@field prompt_height integer the height of the window one types in
---@field save boolean whether a file that an accepted edit changed is written, if it was not modified before
---@field review "auto"|"always"|"never" whether a review opens by itself: unless keys were typed in a file meanwhile, …
---@field keys north.Keys
---@field settings? table<string, any> settings of the server, by their names; they win over its files

---@type north.Config
local defaults = {
  width = 0.4,
  prompt_height = 4,
  save = true,
  review = "auto",
  keys = {
    accept = "ga",
    always = "gA",
    reject = "gr",
    comment = "gR",
    edit = "ge",
    leave = "gl",
    next = "]f",
    previous = "[f",
    details = "K",
  },
}

---@type north.Config
M.current = vim.deepcopy(defaults)

---@param given? table
function M.set(given)
  vim.validate("options", given, "table", true)
  given = given or {}
  for name in pairs(given) do
    if defaults[name] == nil and not vim.list_contains({ "cmd", "env", "settings" }, name) then
      error(("north: unknown option %q"):format(name), 0)
    end
  end
  vim.validate("options.cmd", given.cmd, function(cmd)
    return cmd == nil or (vim.islist(cmd) and #cmd > 0)
  end, "a list such as { 'north-lsp', 'lsp' }")
  vim.validate("options.env", given.env, "table", true)
  vim.validate("options.settings", given.settings, "table", true)
  vim.validate("options.width", given.width, "number", true)
  vim.validate("options.prompt_height", given.prompt_height, "number", true)
  vim.validate("options.save", given.save, "boolean", true)
  vim.validate("options.review", given.review, function(value)
    return value == nil or vim.list_contains({ "auto", "always", "never" }, value)
  end, '"auto", "always" or "never"')
  vim.validate("options.keys", given.keys, "table", true)
  for name, key in pairs(given.keys or {}) do
    if defaults.keys[name] == nil then
      error(("north: unknown key %q"):format(name), 0)
    end
    vim.validate("options.keys." .. name, key, "string")
  end
  M.current = vim.tbl_deep_extend("force", defaults, given)
end

return M
