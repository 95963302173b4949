---Which key stands for which of the options that were offered.
local config = require("north.config")

local M = {}

---@class north.Option
---@field optionId string
---@field name string
---@field kind string
---@field _meta? table

---@class north.Key
---@field key string
---@field option north.Option
---@field label string
---@field asks? boolean the user is asked for a comment

local names = { allow_once = "accept", allow_always = "always", reject_once = "reject" }

---Those that are set up, then g1, g2, …
---@param options north.Option[]
---@return north.Key[]
function M.of(options)
  local keys, used = {}, {}
  for index, option in ipairs(options) do
    local name = names[option.kind]
    local key = name and config.current.keys[name] or nil
    if key == nil or used[key] then
      key = "g" .. index
    end
    used[key] = true
    keys[#keys + 1] = { key = key, option = option, label = option.name }
    if name == "reject" and not used[config.current.keys.comment] then
      used[config.current.keys.comment] = true
      local label = option.name .. ", and say why"
      keys[#keys + 1] = { key = config.current.keys.comment, option = option, label = label, asks = true }
    end
  end
  return keys
end

return M
