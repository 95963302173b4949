---What the user can set, with its defaults.
local compat = require("north.compat")

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
---@field hunk string in a review inside the file: leaves the hunk out, or takes it in again
---@field next_hunk string
---@field previous_hunk string
---@field details string in the chat: what the tool call under the cursor said
---@field whole string in the chat: the whole output of the tool call under the cursor
---@field open string in the chat: the question that the call under the cursor asks
---@field write string in the chat: to the window to type in
---@field copy string in the chat: copies the code block under the cursor
---@field next_turn string in the chat
---@field previous_turn string in the chat
---@field close string in the chat: closes it
---@field stop string in the chat and where one types: stops the turn
---@field help string in the chat and where one types: lists the keys

---@class north.Config
---@field cmd? string[] the server's whole command, such as { "north-lsp", "lsp" }
---@field env? table<string, string> added to the server's environment
---@field width number the chat's width: columns, or a share of the screen when below 1
---@field prompt_height integer the height of the window one types in
---@field save boolean whether a file that an accepted edit changed is written, if it was not modified before
---@field layout "auto"|"right"|"left"|"bottom"|"float"|"tab" where the chat stands; "auto" is right, or below on narrow screens
---@field completion "auto"|"omni" whether completion comes by itself, or with CTRL-X CTRL-O and the plugins' sources only
---@field code_actions boolean whether the menu of code actions has North's
---@field suggestions boolean whether North proposes what comes next while one types
---@field review "never"|"auto"|"always" whether a review opens by itself; "auto": unless keys were typed in a file meanwhile
---@field review_style "tab"|"inline" where an edit is reviewed: side by side, or inside the files
---@field keys north.Keys
---@field settings? table<string, any> settings of the server, by their names; they win over its files

---@type north.Config
local defaults = {
  width = 0.4,
  prompt_height = 4,
  save = true,
  layout = "auto",
  completion = "auto",
  code_actions = true,
  suggestions = false,
  review = "never",
  review_style = "tab",
  keys = {
    accept = "ga",
    always = "gA",
    reject = "gr",
    comment = "gR",
    edit = "ge",
    leave = "gl",
    next = "]f",
    previous = "[f",
    hunk = "gh",
    next_hunk = "]h",
    previous_hunk = "[h",
    details = "K",
    whole = "go",
    open = "<CR>",
    write = "i",
    copy = "gy",
    next_turn = "]]",
    previous_turn = "[[",
    close = "q",
    stop = "<C-c>",
    help = "g?",
  },
}

---@type table<string, string[]>
local CHOICES = {
  layout = { "auto", "right", "left", "bottom", "float", "tab" },
  completion = { "auto", "omni" },
  review = { "auto", "always", "never" },
  review_style = { "tab", "inline" },
}

---Without these a question could not be answered.
local NEEDED = { accept = true, always = true, reject = true, comment = true, edit = true, leave = true, hunk = true,
  next = true, previous = true } -- stylua: ignore

---@type north.Config
M.current = vim.deepcopy(defaults)

---@param given? table
function M.set(given)
  compat.validate("options", given, "table", true)
  given = given or {}
  for name in pairs(given) do
    if defaults[name] == nil and not vim.list_contains({ "cmd", "env", "settings" }, name) then
      error(("north: unknown option %q"):format(name), 0)
    end
  end
  compat.validate("options.cmd", given.cmd, function(cmd)
    return cmd == nil or (vim.islist(cmd) and #cmd > 0)
  end, "a list such as { 'north-lsp', 'lsp' }")
  compat.validate("options.env", given.env, "table", true)
  compat.validate("options.settings", given.settings, "table", true)
  compat.validate("options.width", given.width, "number", true)
  compat.validate("options.prompt_height", given.prompt_height, "number", true)
  compat.validate("options.save", given.save, "boolean", true)
  compat.validate("options.code_actions", given.code_actions, "boolean", true)
  compat.validate("options.suggestions", given.suggestions, "boolean", true)
  for name, values in pairs(CHOICES) do
    local words = ('one of "%s"'):format(table.concat(values, '", "'))
    compat.validate("options." .. name, given[name], function(value)
      return value == nil or vim.list_contains(values, value)
    end, words)
  end
  compat.validate("options.keys", given.keys, "table", true)
  for name, key in pairs(given.keys or {}) do
    if defaults.keys[name] == nil then
      error(("north: unknown key %q"):format(name), 0)
    end
    compat.validate("options.keys." .. name, key, function(value)
      return type(value) == "string" or (value == false and not NEEDED[name])
    end, NEEDED[name] and "a key" or "a key, or false for none")
  end
  M.current = vim.tbl_deep_extend("force", defaults, given)
end

---The server's settings as they are set up: those of the user, and what proposals need.
---@return table<string, any>?
function M.settings()
  local given = M.current.settings
  if not M.current.suggestions then
    return given
  end
  local is_chosen = vim.tbl_get(given or {}, "completion") ~= nil or (given or {})["completion.nextEdits"] ~= nil
  return is_chosen and given or vim.tbl_extend("error", given or {}, { ["completion.nextEdits"] = true })
end

return M
