---A conversation that another North has open: what is said of it, and who that is.
local M = {}

---@class north.Holder
---@field pid integer
---@field client string the editor that it serves; empty if unknown
---@field leaving boolean its editor is gone, and it only ends what it had begun
---@field state? string what happens there

---What the winbar says.
---@param by north.Holder
---@param taking boolean whether the user wants it here
---@return string
function M.words(by, taking)
  if by.leaving then
    return "finishing what ran before"
  end
  local client = by.client ~= "" and by.client or "another North"
  local words = ("Open elsewhere (%s, process %d): following live"):format(client, by.pid)
  if taking then
    return words .. " · taken over as soon as nothing runs there"
  end
  local doing = by.state == "awaiting_review" and " · waits for a decision there"
    or (by.state and by.state ~= "idle" and " · a turn runs there" or "")
  return words .. doing .. " · :North takeover"
end

---The holder that a message of the server's names.
---@param by any
---@return north.Holder?
function M.read(by)
  return type(by) == "table" and type(by.pid) == "number" and by or nil
end

return M
