---The list of the conversations that are open in this Neovim: to go to one, stop its turn, or close it.
local chat = require("north.chat")
local conversation = require("north.conversation")
local layout = require("north.layout")
local live = require("north.live")
local permission = require("north.permission")
local state = require("north.state")

local M = {}

local LONGEST = 60

---What the one that is meant is about, and what it does.
---@return string
local function line()
  local words = state.title or state.first or "nothing said yet"
  words = vim.fn.strtrans((words:gsub("%s+", " ")))
  if vim.fn.strchars(words) > LONGEST then
    words = vim.fn.strcharpart(words, 0, LONGEST) .. "…"
  end
  local facts = {}
  if permission.count() > 0 then
    facts[1] = permission.count() == 1 and "asks you" or ("asks you %d things"):format(permission.count())
  elseif #state.prompts > 0 then
    facts[1] = "working"
  elseif state.phase == "starting" then
    facts[1] = "starting"
  else
    facts[1] = "idle"
  end
  local tab = live.tab_of(live.current())
  facts[#facts + 1] = live.is_here() and "here" or tab and ("tab page %d"):format(vim.api.nvim_tabpage_get_number(tab)) or "not shown"
  return ("%s: %s  (%s)"):format(live.name(), words, table.concat(facts, ", "))
end

---@param one north.Live
local function act_on(one)
  local go, stop, close = "Go to it", "Stop its turn", "Close it (it stays stored)"
  local acts = live.with(one, function()
    return #state.prompts > 0 and { go, stop, close } or { go, close }
  end)
  live.select(acts, { prompt = live.with(one, line), format_item = tostring }, function(act)
    if one.is_closed then
      return
    elseif act == go then
      conversation.go_to(one)
    elseif act == stop then
      live.with(one, conversation.stop)
    elseif act == close then
      conversation.close(one)
    end
  end)
end

---Choose one of the open conversations, and what becomes of it.
function M.choose()
  live.select(live.all(), {
    prompt = "Open conversations",
    kind = "north.live",
    format_item = function(one)
      return live.with(one, line)
    end,
  }, function(one)
    if one then
      act_on(one)
    end
  end)
end

-- Who comes to a tab page by Vim's own ways finds what waits there.
vim.api.nvim_create_autocmd("TabEnter", {
  group = vim.api.nvim_create_augroup("north.lives", { clear = true }),
  desc = "North shows what asks in this tab page's conversation",
  callback = function()
    if #live.all() > 1 and layout.find(chat.buffers()).chat ~= -1 then
      vim.schedule(live.bind(permission.arrive))
    end
  end,
})

return M
