---Words that were not sent: they come back to where they can be sent again, with what was to go along with them.
local attachments = require("north.attachments")
local chat = require("north.chat")
local prompt = require("north.prompt")

local M = {}

---@class north.Unsent
---@field text? string nothing comes back of what has no words
---@field attached? north.Attachment[]
---@field withdrawn? boolean the user has taken it back

---@param one north.Unsent
---@return boolean
local function has_words(one)
  return one.text ~= nil and one.text ~= "" and not one.withdrawn
end

---Put words into the window to type in, before what is being written there.
---@param items north.Unsent[] in the order in which they were to be sent
function M.take_back(items)
  for index = #items, 1, -1 do
    local one = items[index]
    if has_words(one) then
      prompt.restore(one.text)
      attachments.put_back(one.attached or {})
    end
  end
end

---The same, said in the chat: the user did not ask for it.
---@param items north.Unsent[]
function M.give_back(items)
  for _, one in ipairs(items) do
    if has_words(one) then
      chat.add_notice("Not sent: " .. one.text, "warning")
    end
  end
  M.take_back(items)
end

---What the server had kept to be sent and does not send, but for what comes back by itself.
---@param queued any rows of `{ id, text }`
---@param known? north.Unsent[]
---@param on_known? fun(one: north.Unsent) is told of each of these that a row is about; it is about no other row
---@return north.Unsent[]
function M.of_server(queued, known, on_known)
  local items, left = {}, vim.list_slice(known or {})
  for _, row in ipairs(type(queued) == "table" and queued or {}) do
    local found
    for index, one in ipairs(left) do
      -- The server shows what is attached behind the words.
      if has_words(one) and (row.text == one.text or vim.startswith(row.text, one.text .. "\n\n")) then
        found = index
        break
      end
    end
    if not found then
      items[#items + 1] = { text = row.text }
    else
      local one = table.remove(left, found)
      if on_known then
        on_known(one)
      end
    end
  end
  return items
end

return M
