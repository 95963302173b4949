---The questions of the server: an edit is shown as a diff, a command through vim.ui.select. They wait without blocking.
local review = require("north.review")

local M = {}

---@class north.Question
---@field call table the tool call it is about
---@field options north.Option[]
---@field reply fun(outcome: table)
---@field proposal? north.Proposal for an edit
---@field asked? boolean while vim.ui.select is open

---@type north.Question[] the first one is the one that is shown
local pending = {}

---@param question north.Question
---@return boolean
local function is_pending(question)
  return vim.list_contains(pending, question)
end

---Run a function when the user is neither typing nor choosing: what opens then cannot catch a key by accident.
---@param action fun()
local function when_at_rest(action)
  local mode = vim.api.nvim_get_mode().mode
  if (mode == "n" or mode == "nt") and vim.fn.getcmdwintype() == "" then
    action()
    return
  end
  vim.api.nvim_create_autocmd({ "ModeChanged", "CmdwinLeave" }, {
    once = true,
    desc = "North asks when the user has finished typing",
    callback = function()
      vim.schedule(function()
        when_at_rest(action)
      end)
    end,
  })
end

---@param question north.Question
---@param outcome table
---@param extra? north.Extra
local function settle(question, outcome, extra)
  if not is_pending(question) then
    return
  end
  pending = vim.tbl_filter(function(other)
    return other ~= question
  end, pending)
  if question.proposal then
    review.close()
  end
  question.reply({ outcome = outcome, _meta = extra and { north = extra } or nil })
  if pending[1] then
    M.review()
  end
end

---@param question north.Question
---@param option? north.Option
---@param extra? north.Extra
local function choose(question, option, extra)
  if option then
    settle(question, { outcome = "selected", optionId = option.optionId }, extra)
  else
    settle(question, { outcome = "cancelled" })
  end
end

---@param call table
---@return string[]
local function texts_of(call)
  local texts = {}
  for _, part in ipairs(call.content or {}) do
    if part.type == "content" and part.content.type == "text" then
      texts[#texts + 1] = part.content.text
    end
  end
  return texts
end

---@param question north.Question
local function select(question)
  if question.asked then
    return
  end
  question.asked = true
  -- Refusing comes first, since many pickers take their first item on Enter.
  local refusals, others = {}, {}
  for _, option in ipairs(question.options) do
    table.insert(vim.startswith(option.kind, "reject") and refusals or others, option)
  end
  local texts = texts_of(question.call)
  local items = vim.list_extend(vim.list_extend({}, refusals), others)
  if refusals[1] then
    local name = refusals[1].name .. ", and say why"
    items[#items + 1] = vim.tbl_extend("force", refusals[1], { name = name, asks = true })
  end
  vim.ui.select(items, {
    kind = "north_command",
    prompt = ("North asks to run:\n\n%s\n"):format(#texts > 0 and table.concat(texts, "\n\n") or question.call.title),
    format_item = function(option)
      return option.name
    end,
  }, function(option)
    question.asked = false
    if not (option and option.asks) then
      choose(question, option or refusals[1])
      return
    end
    vim.ui.input({ prompt = "North, what is wrong with it? " }, function(comment)
      choose(question, option, (comment or "") ~= "" and { comment = comment } or nil)
    end)
  end)
end

---@param question north.Question
local function present(question)
  if question.proposal then
    review.open(question.proposal, function(option, extra)
      choose(question, option, extra)
    end)
  else
    select(question)
  end
end

---Show the question that waits, if there is one.
function M.review()
  if not pending[1] then
    vim.notify("North: nothing waits for you", vim.log.levels.INFO)
    return
  end
  when_at_rest(function()
    if pending[1] then
      present(pending[1])
    end
  end)
end

---How many questions wait.
---@return integer
function M.count()
  return #pending
end

---Answer `session/request_permission`, to be called by its handler: Neovim runs that in a coroutine, which sleeps
---until the user has decided.
---@param params table
---@return table result
function M.request(params)
  vim.validate("params", params, "table")
  local thread = coroutine.running()
  local call = params.toolCall
  local diffs = vim.tbl_filter(function(part)
    return part.type == "diff"
  end, call.content or {})
  ---@type north.Question
  local question = {
    call = call,
    options = params.options,
    reply = function(result)
      vim.schedule(function() -- never before the coroutine sleeps
        coroutine.resume(thread, result)
      end)
    end,
  }
  if #diffs > 0 then
    question.proposal = { title = call.title, notes = texts_of(call), diffs = diffs, options = params.options }
  end
  pending[#pending + 1] = question
  if pending[1] == question then
    if vim.api.nvim_get_mode().mode ~= "n" then
      vim.notify(("North asks: %s"):format(call.title), vim.log.levels.INFO)
    end
    vim.schedule(function()
      if pending[1] == question then
        M.review()
      end
    end)
  end
  return coroutine.yield()
end

---Withdraw the question about a tool call that has ended.
---@param call_id string
function M.withdraw(call_id)
  for _, question in ipairs(pending) do
    if question.call.toolCallId == call_id then
      choose(question, nil)
      return
    end
  end
end

---Withdraw all questions: the turn was stopped, or the server is gone.
function M.withdraw_all()
  while pending[1] do
    local all = pending
    pending = { all[1] }
    choose(all[1], nil)
    pending = vim.list_slice(all, 2)
  end
end

return M
