---What an empty chat shows: where one is, who answers, and what to do first. It is no text of the buffer.
local options = require("north.options")
local state = require("north.state")

local M = {}

---@return [string, string][][]
function M.lines()
  local lines = {}
  ---@param ... [string, string]
  local function add(...)
    lines[#lines + 1] = { ... }
  end
  local root = state.root and vim.fn.strtrans(vim.fn.fnamemodify(state.root, ":~")) or nil
  local model = options.name_of("model")
  add({ "North", "NorthAgent" }, { root and ("  " .. root) or "", "NorthFacts" })
  if state.phase == "starting" then
    add({ "starting …", "NorthFacts" })
  elseif model then
    add({ "Answers: ", "NorthFacts" }, { options.short_model() or model, "NorthUser" })
    add({ ":North model", "NorthKey" }, { " chooses another.", "NorthFacts" })
  end
  add({ "", "NorthFacts" })
  add({ "Ask below; ", "NorthFacts" }, { "Enter", "NorthKey" }, { " sends.", "NorthFacts" })
  add({ "/", "NorthKey" }, { " lists commands, ", "NorthFacts" }, { "@", "NorthKey" }, { " files.", "NorthFacts" })
  add({ "g?", "NorthKey" }, { " lists the keys.", "NorthFacts" })
  add({ "", "NorthFacts" })
  add({ "Edits and commands ask first:", "NorthFacts" })
  add({ ":North review", "NorthKey" }, { " shows what asks.", "NorthFacts" })
  add({ ":North resume", "NorthKey" }, { " opens earlier ones.", "NorthFacts" })
  if model and model:lower():find("offline", 1, true) then
    add({ ":North login", "NorthKey" }, { " stores a model's key.", "NorthFacts" })
  end
  return lines
end

---What a heading says beside who speaks: the model that answers, and the time.
---@param role "user"|"north"
---@return string
function M.facts(role)
  if state.replacing or state.phase ~= "ready" then
    return "" -- when it was said is not told
  end
  local model = role == "north" and options.short_model() or nil
  local time = os.date("%H:%M") --[[@as string]]
  return model and ("%s · %s"):format(model, time) or time
end

return M
