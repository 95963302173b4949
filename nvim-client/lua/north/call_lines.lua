---What the chat shows of a tool call: a line, its color, and what it said.
local titles = require("north.titles")

local M = {}

local SYMBOLS = { pending = "…", in_progress = "▸", waiting = "?", completed = "✓", failed = "✗" }
local GROUPS = {
  pending = "NorthRunning",
  in_progress = "NorthRunning",
  waiting = "NorthWaiting",
  completed = "NorthDone",
  failed = "NorthFailed",
}
local UNFINISHED = { pending = true, in_progress = true, waiting = true }

---@class north.Call
---@field mark integer its line
---@field title string
---@field status string pending, in_progress, waiting, completed or failed
---@field note? string why it failed, in a line
---@field details string[] what it said, as Markdown
---@field truncation? north.Truncation the model got a part of it

---@param call north.Call
---@return boolean
function M.is_unfinished(call)
  return UNFINISHED[call.status] == true
end

---@param call north.Call
---@return string
function M.line(call)
  local note = call.note and (" — " .. call.note) or ""
  if call.status == "waiting" then
    note = " — asks you (:North review)"
  end
  local title = call.status == "completed" and titles.when_done(call.title) or call.title
  return ("- %s %s%s"):format(SYMBOLS[call.status] or "·", title, note):gsub("\n", " ⏎ ")
end

---@param call north.Call
---@return integer bytes of the line that have the color
---@return string group
function M.color(call)
  return #("- " .. (SYMBOLS[call.status] or "·")), GROUPS[call.status] or "NorthFacts"
end

---@param content table[]
---@return string[]
function M.details(content)
  local lines = {}
  for _, part in ipairs(content) do
    if part.type == "content" and part.content.type == "text" then
      vim.list_extend(lines, vim.split(part.content.text, "\n", { plain = true }))
    elseif part.type == "diff" then
      local diff = vim.diff(part.oldText or "", part.newText or "", { ctxlen = 3 }) --[[@as string]]
      lines[#lines + 1] = "```diff"
      vim.list_extend(lines, vim.split(vim.trim(diff), "\n", { plain = true }))
      lines[#lines + 1] = "```"
    end
  end
  return lines
end

---Why a call failed, in a line.
---@param content table[]
---@return string?
function M.reason(content)
  local reason
  for _, part in ipairs(content) do
    if part.type == "content" and part.content.type == "text" then
      reason = vim.iter(vim.split(part.content.text, "\n", { plain = true })):find(function(line)
        return vim.trim(line) ~= "" and not vim.startswith(line, "```")
      end) or reason
    end
  end
  return reason
end

return M
