---What runs or is written without a question in this project: listed, and taken back.
local live = require("north.live")
local refused = require("north.answers").refused
local messages = require("north.messages")

local M = {}

local ORIGINS = { session = "for this conversation", user = "in this folder", project = "in the project's file: no effect" }

---@param ask north.Ask
function M.choose(ask)
  ask("_north/permissions/list", vim.empty_dict(), function(error, result)
    if error or not result then
      refused(error)
      return
    end
    if #result.permissions == 0 then
      messages.tell("North: nothing is allowed without asking here", vim.log.levels.INFO)
      return
    end
    live.select(result.permissions, {
      prompt = "Allowed without asking: choose what to revoke",
      kind = "north.permission",
      format_item = function(row)
        local since = type(row.since) == "string" and ", since " .. row.since:sub(1, 10) or ""
        return ("%s  (%s%s)"):format(row.allows, ORIGINS[row.origin] or row.origin, since)
      end,
    }, function(row)
      if not row then
        return
      end
      ask("_north/permissions/revoke", { id = row.id }, function(failed, done)
        if failed or not done then
          refused(failed)
        else
          messages.tell(("North asks again: %s"):format(row.allows), vim.log.levels.INFO)
        end
      end)
    end)
  end)
end

return M
