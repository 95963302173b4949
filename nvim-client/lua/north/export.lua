---The conversation as a file, or as a text in a buffer of its own. The server makes it.
local refused = require("north.answers").refused
local compat = require("north.compat")
local messages = require("north.messages")
local place = require("north.place")
local text_tab = require("north.text_tab")

local M = {}

local EXPORT = "_north/sessions/export"

---@param ask north.Ask
---@param path string
---@param replace boolean
local function write(ask, path, replace)
  ask(EXPORT, { path = path, replace = replace }, function(error, result)
    if error and vim.tbl_get(error, "data", "code") == "CONFLICT" and not replace then
      -- Scheduled, since a question must not hold up the connection.
      vim.schedule(function()
        local question = ("%s exists already. Replace it?"):format(path)
        if vim.fn.confirm(question, "&Replace\n&Keep", 2) == 1 then
          write(ask, path, true)
        else
          messages.tell("North: nothing was exported", vim.log.levels.INFO)
        end
      end)
    elseif error or not result then
      refused(error)
    else
      local path = vim.fn.fnamemodify(result.path, ":~:.") -- short: a message of two lines asks for a key
      messages.tell(("North: exported to %s; keys and your home folder are masked"):format(path))
    end
  end)
end

---Write the conversation to a file. Without a path, to one of North's own name in the project's folder.
---@param ask north.Ask
---@param name string as it was typed: relative to the current directory; `~` is the home folder
---@param root string the project's folder
---@param id string the conversation's
function M.write(ask, name, root, id)
  compat.validate("name", name, "string")
  local path
  if name == "" then
    path = vim.fs.joinpath(root, ("north-%s-%s.html"):format(id, os.date("%Y-%m-%d")))
  else
    name = name:match('^"(.*)"$') or name:match("^'(.*)'$") or name
    path = vim.fs.normalize(vim.fn.fnamemodify(name, ":p"), { expand_env = false })
  end
  write(ask, path, false)
end

---Show all that the model was told and said in a buffer that belongs to no file.
---@param ask north.Ask
function M.show(ask)
  local open_there = place.stay("the text of the conversation")
  ask(EXPORT, { format = "txt" }, function(error, result)
    if error or not result then
      refused(error)
      return
    end
    open_there(function()
      text_tab.open(result.text)
      vim.bo.modifiable = true -- it is a copy
    end)
  end)
end

return M
