---The files with what was learned of the project: its profile, and what was remembered of conversations.
local live = require("north.live")
local refused = require("north.answers").refused
local messages = require("north.messages")
local place = require("north.place")

local M = {}

---Open the only file, or the one that is chosen.
---@param ask north.Ask
function M.open(ask)
  local open_there = place.stay("the file")
  ask("_north/learned/list", vim.empty_dict(), function(error, result)
    if error or not result then
      refused(error)
      return
    end
    if #result.files == 0 then
      messages.tell("North: nothing has been learned about this project yet: `/learn` has a model explore it")
      return
    end
    local function open(file)
      if file then
        vim.cmd.tabedit(vim.fn.fnameescape(file.path))
      end
    end
    if #result.files == 1 then
      open_there(function()
        open(result.files[1])
      end)
      return
    end
    local function shown(file)
      return ("%s  %s"):format(file.title, file.path)
    end
    live.select(result.files, { prompt = "Learned about this project", format_item = shown }, open)
  end)
end

return M
