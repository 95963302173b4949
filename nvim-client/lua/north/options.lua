---The conversation's options, as the server tells them: mode, model, thinking, and what happens without a question.
local live = require("north.live")
local refused = require("north.answers").refused
local compat = require("north.compat")
local messages = require("north.messages")

local M = {}

---@class north.ConfigOption
---@field id string
---@field name string
---@field type string
---@field currentValue any
---@field options? { value: string, name: string, description?: string }[]

---@class north.KeptOptions
---@field options north.ConfigOption[]
---@field usage? { used: integer, size: integer, cost?: { amount: number, currency: string } }
local own = live.keep("options", function()
  return { options = {} }
end)

---@param told north.ConfigOption[]?
function M.set(told)
  own().options = type(told) == "table" and told or own().options
end

---@param update table ACP's `usage_update`
function M.set_usage(update)
  own().usage = { used = update.used, size = update.size, cost = type(update.cost) == "table" and update.cost or nil }
end

---Forget what was told of a conversation that is not shown any more.
function M.clear()
  own().usage = nil
end

---@param id string
---@return north.ConfigOption?
local function find(id)
  return vim.iter(own().options):find(function(option)
    return option.id == id
  end)
end

---The name of what is chosen.
---@param id string
---@return string?
function M.name_of(id)
  local option = find(id)
  if not option then
    return nil
  end
  for _, choice in ipairs(option.options or {}) do
    if choice.value == option.currentValue then
      return choice.name
    end
  end
  return tostring(option.currentValue)
end

---The model's name without what stands behind it in parentheses.
---@return string?
function M.short_model()
  local name = M.name_of("model")
  return name and (name:gsub("%s*%b()$", ""))
end

---What happens without a question: "edits", "commands".
---@return string[]
function M.unasked()
  local found = {}
  for id, word in vim.spairs({ _edits = "edits", _shell = "commands" }) do
    local option = find(id)
    if option and (option.currentValue == "auto" or option.currentValue == true) then
      found[#found + 1] = word
    end
  end
  return found
end

---@return { used: integer, size: integer, cost?: { amount: number, currency: string } }?
function M.usage()
  return own().usage
end

---How full the model's window is, and what the conversation has cost.
---@return string?
function M.usage_words()
  local usage = own().usage
  if not usage then
    return nil
  end
  local parts = {}
  if type(usage.size) == "number" and usage.size > 0 then
    parts[1] = ("%d%%"):format(math.floor(100 * usage.used / usage.size + 0.5))
  end
  if usage.cost and usage.cost.amount > 0 then
    local digits = usage.cost.amount < 1 and "%.3f" or "%.2f"
    local amount = digits:format(usage.cost.amount)
    parts[#parts + 1] = usage.cost.currency == "USD" and "$" .. amount or amount .. " " .. usage.cost.currency
  end
  return #parts > 0 and table.concat(parts, " ") or nil
end

---@param ask north.Ask
---@param option north.ConfigOption
---@param value any
local function change(ask, option, value)
  ask("session/set_config_option", { configId = option.id, value = value }, function(error, result)
    if error or not result then
      refused(error)
      return
    end
    M.set(result.configOptions)
    require("north.state").show() -- which needs this module
    messages.tell(("North: %s: %s"):format(option.name, M.name_of(option.id) or "?"), vim.log.levels.INFO)
  end)
end

---@param ask north.Ask
---@param option north.ConfigOption
local function choose_value(ask, option)
  local rows = option.options or {}
  live.select(rows, {
    prompt = option.name,
    kind = "north.option",
    format_item = function(row)
      local mark = row.value == option.currentValue and "● " or "  "
      return mark .. row.name .. (row.description and ("  (%s)"):format(row.description) or "")
    end,
  }, function(row)
    if row then
      change(ask, option, row.value)
    end
  end)
end

---Change an option: to what the words name, or to what the user chooses.
---@param ask north.Ask
---@param id string
---@param words string
function M.choose(ask, id, words)
  compat.validate("id", id, "string")
  compat.validate("words", words, "string")
  local option = find(id)
  if not option then
    local what = id == "thought_level" and "this model has no levels of thinking" or "there is no such option now"
    messages.tell("North: " .. what, vim.log.levels.WARN)
  elseif words == "" then
    choose_value(ask, option)
  else
    change(ask, option, words)
  end
end

---Choose one of all options, then its value.
---@param ask north.Ask
function M.browse(ask)
  live.select(own().options, {
    prompt = "North: options of this conversation",
    kind = "north.option",
    format_item = function(option)
      return ("%s: %s"):format(option.name, M.name_of(option.id) or "?")
    end,
  }, function(option)
    if option then
      choose_value(ask, option)
    end
  end)
end

---The values of an option, for completion.
---@param id string
---@return string[]
function M.values(id)
  local option = find(id)
  return vim.tbl_map(function(row)
    return row.value
  end, option and option.options or {})
end

return M
