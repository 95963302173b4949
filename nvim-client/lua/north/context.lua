---What the next request has, part by part, in a buffer that belongs to no file. The server tells it.
local refused = require("north.answers").refused
local text_tab = require("north.text_tab")

local M = {}

---@param ask north.Ask
function M.show(ask)
  ask("_north/context", vim.empty_dict(), function(error, result)
    if error or not result then
      refused(error)
      return
    end
    text_tab.open(result.markdown, "markdown")
  end)
end

return M
