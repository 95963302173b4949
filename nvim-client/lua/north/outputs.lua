---The whole output of a call, of which the model and the chat got a part: the server keeps it.
local messages = require("north.messages")
local place = require("north.place")
local refused = require("north.answers").refused
local text_tab = require("north.text_tab")

local M = {}

local READ = "_north/artifacts/read"
local MOST = 20000000

---@class north.Truncation what the server says of a result that was shortened
---@field totalLines? integer
---@field outputLines? integer
---@field artifactId? string

---What a call's details say of it.
---@param truncation north.Truncation
---@param key string|false what opens all of it
---@return string[] lines
function M.words(truncation, key)
  local shown, total = truncation.outputLines, truncation.totalLines
  local is_counted = type(shown) == "number" and type(total) == "number"
  local said = is_counted and ("The model got %d of %d lines"):format(shown, total) or "The model got a part of it"
  if type(truncation.artifactId) ~= "string" then
    return { "", said .. "." }
  end
  return { "", key and key ~= "" and ("%s; `%s` opens all of it."):format(said, key) or said .. "." }
end

---Open all of it in a tab page of its own.
---@param ask north.Ask
---@param truncation north.Truncation? none for a call of which nothing was left out
function M.open(ask, truncation)
  local id = truncation and truncation.artifactId
  if type(id) ~= "string" then
    local words = truncation and "the whole output of this call was not kept" or "here is no call whose output was shortened"
    messages.tell("North: " .. words, vim.log.levels.INFO)
    return
  end
  local parts, open_there = {}, place.stay("the output")
  ---@param offset integer
  local function read(offset)
    ask(READ, { artifactId = id, offset = offset }, function(error, result)
      if error or not result then
        refused(error)
        return
      end
      parts[#parts + 1] = result.text
      local following = result.nextOffset
      if type(following) == "number" and following < MOST then
        read(following)
        return
      elseif type(following) == "number" then
        parts[#parts + 1] = ("\n(%d more characters are not shown)\n"):format(result.totalCharacters - following)
      end
      open_there(function()
        text_tab.open(table.concat(parts))
      end)
    end)
  end
  read(0)
end

return M
