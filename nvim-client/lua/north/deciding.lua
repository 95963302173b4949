---What a key that was pressed in a review means: a decision, after what lasts was confirmed and what is wrong was said.
local live = require("north.live")
local messages = require("north.messages")

local M = {}

---@class north.Decidable
---@field choose fun(option: north.Option, extra?: north.Extra)
---@field armed? north.Key a key that allows more than this once was pressed: the next press holds

---@param shown north.Decidable
---@param key north.Key
---@param what_stands fun(): north.Extra|false|nil nil for everything, false for nothing
---@param is_current fun(): boolean
function M.decide(shown, key, what_stands, is_current)
  if vim.startswith(key.option.kind, "allow") then
    local stands = what_stands()
    if stands == false then
      messages.tell("North: nothing is left of the proposal; reject it instead", vim.log.levels.WARN)
      return
    elseif key.option.kind == "allow_always" and shown.armed ~= key then
      shown.armed = key
      local scope = vim.tbl_get(key.option, "_meta", "north", "scope") or key.option.name
      local words = "North: without asking: %s. It applies until you revoke it with :North permissions. Press %s again to allow it."
      messages.tell(words:format(scope, key.key), vim.log.levels.WARN)
      return
    end
    shown.choose(key.option, stands or nil)
  elseif key.asks then
    live.input({ prompt = "North, what is wrong with it? " }, function(comment)
      if comment and is_current() then
        shown.choose(key.option, comment ~= "" and { comment = comment } or nil)
      end
    end)
  else
    shown.choose(key.option)
  end
end

return M
