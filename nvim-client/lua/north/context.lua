---What the next request has, part by part, in a buffer that belongs to no file. The server tells it.
local place = require("north.place")
local refused = require("north.answers").refused
local text_tab = require("north.text_tab")

local M = {}

---@param ask north.Ask
function M.show(ask)
  local open_there = place.stay("the context")
  ask("_north/context", vim.empty_dict(), function(error, result)
    if error or not result then
      refused(error)
      return
    end
    open_there(function()
      text_tab.open(result.markdown, "markdown")
    end)
  end)
end

return M
