---The stored conversations as rows of a list.
local M = {}

---@class north.Row what `_north/sessions/list` and `_north/sessions/search` answer
---@field sessionId string
---@field name string
---@field cwd string
---@field updatedAt string
---@field messageCount integer
---@field costUsd number
---@field model? string
---@field archived boolean
---@field isHere? boolean it goes on in the project's folder without a question
---@field deletedAt? string only in the trash
---@field match? { snippet: string, place: string }

---@param text string such as 2025-12-10T10:20:30.000Z
---@param now? integer seconds since 1970
---@return string
function M.ago(text, now)
  local year, month, day, hour, minute, second = text:match("^(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)")
  if not year then
    return "at an unknown time"
  end
  local parts = { year = year, month = month, day = day, hour = hour, min = minute, sec = second, isdst = false }
  local moment = os.time(parts --[[@as osdateparam]])
  local here = now or os.time()
  local utc = os.date("!*t", here) --[[@as osdateparam]]
  utc.isdst = false
  local minutes = math.floor(os.difftime(os.time(utc), moment) / 60)
  if minutes < 1 then
    return "just now"
  end
  for _, unit in ipairs({ { 60, 1, "minute" }, { 24 * 60, 60, "hour" }, { 7 * 24 * 60, 24 * 60, "day" } }) do
    if minutes < unit[1] then
      local count = math.floor(minutes / unit[2])
      return ("%d %s%s ago"):format(count, unit[3], count > 1 and "s" or "")
    end
  end
  return "on " .. text:sub(1, 10)
end

---@param row north.Row
---@param root string the folder whose conversations need not name it
---@return string
function M.line(row, root)
  local facts = { M.ago(row.updatedAt), ("%d messages"):format(row.messageCount) }
  if row.costUsd > 0 then
    facts[#facts + 1] = row.costUsd < 0.01 and "<$0.01" or ("$%.2f"):format(row.costUsd)
  end
  if type(row.model) == "string" then
    facts[#facts + 1] = row.model:match("[^/]*$")
  end
  if row.cwd ~= root then
    facts[#facts + 1] = vim.fn.fnamemodify(row.cwd, ":~")
  end
  if row.deletedAt then
    table.insert(facts, 1, "deleted " .. M.ago(row.deletedAt))
  end
  if row.archived then
    facts[#facts + 1] = "archived"
  end
  local line = ("%s  (%s)"):format(row.name, table.concat(facts, ", "))
  if row.match and row.match.place ~= "title" and row.match.snippet ~= "" then
    line = ("%s  %s"):format(line, row.match.snippet)
  end
  return (line:gsub("%s*\n%s*", " "))
end

return M
