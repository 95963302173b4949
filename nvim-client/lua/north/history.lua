---Prompts that were sent before, in the window to type in: older ones with <Up> on the first line or CTRL-P.
local compat = require("north.compat")
local live = require("north.live")
local messages = require("north.messages")

local M = {}

local MOST = 200

---@class north.Walk where one is in the prompts sent before
---@field prompts string[] newest first
---@field place integer 0 is what was being typed
---@field left table<integer, string[]> what stood at each place when it was left, with what was changed there

---@type table<integer, north.Walk> by buffer
local walks = {}
---@type table<integer, string[]> by buffer: what was being typed when something else was sent, newest first
local drafts = {}
---@type table<integer, table> by buffer: a walk that begins when the server has answered
local asked = {}

---@param buffer integer
---@param lines string[]
local function put(buffer, lines)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, true, lines)
  if vim.api.nvim_get_current_buf() == buffer then
    vim.api.nvim_win_set_cursor(0, { #lines, #lines[#lines] })
  end
end

---@param buffer integer
---@param step integer 1 to an older one, -1 back
local function move(buffer, step)
  local walk = walks[buffer]
  local place = math.max(0, math.min(#walk.prompts, walk.place + step))
  if place == walk.place then
    return
  end
  walk.left[walk.place] = vim.api.nvim_buf_get_lines(buffer, 0, -1, true)
  walk.place = place
  put(buffer, walk.left[place] or vim.split(walk.prompts[place], "\n", { plain = true }))
end

---@param buffer integer
---@param fetch fun(on_prompts: fun(prompts: string[]))
local function older(buffer, fetch)
  if walks[buffer] then
    return move(buffer, 1)
  end
  local token = {}
  asked[buffer] = token
  fetch(function(prompts)
    prompts = vim.list_extend(vim.list_slice(drafts[buffer] or {}), prompts)
    if vim.api.nvim_buf_is_valid(buffer) and asked[buffer] == token and #prompts > 0 then
      walks[buffer] = { prompts = prompts, place = 0, left = {} }
      move(buffer, 1)
    end
  end)
end

---Forget where one is: the next time begins with the prompt that was sent last, or with what was being typed before
---another one was gone to.
---@param buffer integer
---@param sent? string what has been sent from there
function M.reset(buffer, sent)
  local walk = walks[buffer]
  walks[buffer], asked[buffer] = nil, nil
  if sent and drafts[buffer] then
    local stood_on = walk and drafts[buffer][walk.place]
    drafts[buffer] = vim.tbl_filter(function(one)
      return one ~= stood_on and one ~= vim.trim(sent)
    end, drafts[buffer])
  end
  local draft = walk and walk.place ~= 0 and vim.trim(table.concat(walk.left[0] or {}, "\n")) or ""
  if draft ~= "" then
    drafts[buffer] = drafts[buffer] or {}
    table.insert(drafts[buffer], 1, draft)
  end
end

---@param ask fun(method: string, params: table, on_answer: fun(error: table?, result: table?))
---@param root string
---@return fun(on_prompts: fun(prompts: string[]))
local function fetcher(ask, root)
  return function(on_prompts)
    ask("_north/prompts/history", { cwd = root, limit = MOST }, function(_, result)
      local prompts = vim.tbl_map(function(row)
        return row.text
      end, result and result.prompts or {})
      on_prompts(prompts)
    end)
  end
end

---Choose one of the prompts that were sent in the project, or of those with the words.
---@param ask fun(method: string, params: table, on_answer: fun(error: table?, result: table?))
---@param root string
---@param words string
---@param on_chosen fun(text: string)
function M.choose(ask, root, words, on_chosen)
  ask("_north/prompts/history", { cwd = root, limit = MOST, query = words }, function(error, result)
    local rows = result and result.prompts or {}
    if error or #rows == 0 then
      messages.tell("North: " .. (error and error.message or "no prompt was sent here with these words"), vim.log.levels.INFO)
      return
    end
    live.select(rows, {
      prompt = "Prompts that were sent before",
      kind = "north.prompt",
      format_item = function(row)
        return (row.text:gsub("%s+", " "))
      end,
    }, function(row)
      if row then
        on_chosen(row.text)
      end
    end)
  end)
end

---Give a window to type in its keys.
---@param buffer integer
---@param with_server fun(action: fun(ask: fun(method: string, params: table, on_answer: function), root: string))
function M.attach(buffer, with_server)
  compat.validate("buffer", buffer, "number")
  compat.validate("with_server", with_server, "function")
  if vim.b[buffer].north_history then
    return
  end
  vim.b[buffer].north_history = true
  ---@param step integer
  local function go(step)
    vim.schedule(function()
      if step < 0 then
        if walks[buffer] then
          move(buffer, -1)
        end
        return
      end
      with_server(function(ask, root)
        older(buffer, fetcher(ask, root))
      end)
    end)
  end
  ---@param key string
  ---@param step integer
  ---@param at_edge fun(): boolean
  local function map(key, step, at_edge)
    vim.keymap.set("i", key, function()
      if vim.fn.pumvisible() == 1 or not at_edge() then
        return key
      end
      go(step)
      return ""
    end, { buffer = buffer, expr = true, desc = "North: a prompt that was sent before" })
  end
  local function anywhere()
    return true
  end
  map("<Up>", 1, function()
    return vim.fn.line(".") == 1
  end)
  map("<Down>", -1, function()
    return vim.fn.line(".") == vim.fn.line("$") and walks[buffer] ~= nil
  end)
  map("<C-p>", 1, anywhere)
  map("<C-n>", -1, anywhere)
end

return M
