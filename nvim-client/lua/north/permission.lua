---The questions of the server: an edit is shown as a diff, a command in a split. They wait without blocking.
local approval = require("north.approval")
local attention = require("north.attention")
local compat = require("north.compat")
local config = require("north.config")
local forms = require("north.forms")
local inline = require("north.inline")
local live = require("north.live")
local messages = require("north.messages")
local review = require("north.review")

local M = {}

---@class north.Question
---@field call table the tool call it is about
---@field options north.Option[]
---@field reply fun(outcome: table)
---@field proposal? north.Proposal for an edit with texts to compare
---@field form? table the params of `elicitation/create`, for several questions at once
---@field live north.Live the conversation that asks
---@field approval? north.Approval for everything else

---@class north.KeptQuestions
---@field pending north.Question[] the first one is the one that is shown
---@field shows_inline boolean the next edit is shown inside its files: the user has asked for it there
local own = live.keep("permission", function()
  return { pending = {}, shows_inline = false }
end)

---@param question north.Question
---@return boolean
local function is_pending(question)
  return vim.list_contains(own().pending, question)
end

---Run a function when the user is neither typing nor choosing: what opens then cannot catch a key by accident.
---@param action fun()
local function when_at_rest(action)
  local mode = vim.api.nvim_get_mode().mode
  if (mode == "n" or mode == "nt") and vim.fn.getcmdwintype() == "" then
    action()
    return
  end
  local again = live.bind(function()
    when_at_rest(action)
  end)
  local waiting
  waiting = vim.api.nvim_create_autocmd({ "ModeChanged", "CmdwinLeave" }, {
    desc = "North asks when the user has finished typing",
    callback = function()
      pcall(vim.api.nvim_del_autocmd, waiting) -- `once` leaves the half for the other event behind
      vim.schedule(again)
    end,
  })
end

---@type fun(question: north.Question)
local show_next

---@param question north.Question
---@param result table
local function settle_here(question, result)
  if not is_pending(question) then
    return
  end
  own().pending = vim.tbl_filter(function(other)
    return other ~= question
  end, own().pending)
  if question.proposal then
    own().shows_inline = false
    inline.close(question.proposal)
    review.close()
  elseif question.form then
    forms.close(true)
  else
    approval.close()
  end
  question.reply(result)
  if own().pending[1] then
    show_next(own().pending[1])
  end
end

---@param question north.Question
---@param result table
local function settle(question, result)
  live.with(question.live, settle_here, question, result)
end

---@param question north.Question
---@param option? north.Option
---@param extra? north.Extra
local function choose(question, option, extra)
  if question.form then
    settle(question, { action = "cancel" })
  elseif option then
    local outcome = { outcome = "selected", optionId = option.optionId }
    settle(question, { outcome = outcome, _meta = extra and { north = extra } or nil })
  else
    settle(question, { outcome = { outcome = "cancelled" } })
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

---What a question is about, in words.
---@param params table
---@return "edit"|"command"|"choice" kind
---@return string heading
local function about(params)
  local asked = vim.tbl_get(params, "_meta", "north", "question")
  local call = params.toolCall
  local kind = asked and asked.kind
    or (call.kind == "execute" and "command")
    or (vim.list_contains({ "edit", "delete", "move" }, call.kind) and "edit")
    or "choice"
  local text = ((asked and asked.text or call.title or ""):gsub("\n", " "))
  if kind == "command" then
    return kind, live.name() .. " asks to run this command"
  end
  return kind, live.name() .. (kind == "edit" and " asks to change files: " or " asks: ") .. text
end

---@param params table
---@return north.Approval
local function approval_of(params)
  local kind, heading = about(params)
  local call = params.toolCall
  local texts = texts_of(call)
  local command = kind == "command" and vim.tbl_get(call, "rawInput", "command") or nil
  local notes = {}
  if command then
    vim.list_extend(notes, vim.list_slice(texts, 2))
  end
  local body = command or (#texts > 0 and table.concat(texts, "\n\n") or call.title or "")
  return { heading = heading, body = body, is_command = command ~= nil, notes = notes, options = params.options }
end

---@param question north.Question
---@return boolean
local function is_inline(question)
  return question.proposal ~= nil and (own().shows_inline or config.current.review_style == "inline")
end

---@param question north.Question
---@param focus boolean
---@param style? "tab"|"inline" what the user wants now
local function present(question, focus, style)
  local function on_choice(option, extra)
    choose(question, option, extra)
  end
  if question.proposal then
    local wants_inline = style == "inline" or (style == nil and is_inline(question))
    if wants_inline then
      if inline.open(question.proposal, focus, on_choice) then
        review.close()
        return
      end
      messages.tell("North: this edit cannot be shown inside the files; side by side instead", vim.log.levels.INFO)
    end
    inline.close(question.proposal)
    review.open(question.proposal, on_choice)
  elseif question.form then
    forms.open(question.form, #own().pending, focus, function(result)
      settle(question, result)
    end)
  else
    approval.open(question.approval, #own().pending, focus, on_choice)
  end
end

---Tell of a question without opening anything that takes the cursor.
---@param question north.Question
local function announce(question)
  local is_command = question.approval and question.approval.is_command
  local words = is_command and " to run: " .. question.approval.body or ": " .. (question.call.title or "something")
  if vim.fn.strchars(words) > 60 then
    words = vim.fn.strcharpart(words, 0, 60) .. "…"
  end
  messages.tell(("%s asks%s"):format(live.name(), words), vim.log.levels.INFO, " (:North review)")
end

---Whether a review may take the cursor: not from somebody who has typed in a file since.
---@return boolean
local function may_open()
  if config.current.review ~= "auto" then
    return config.current.review == "always"
  end
  return attention.is_free()
end

---Show a question that has come up by itself.
---@param question north.Question
local function come_up(question)
  if not live.is_here() then
    announce(question) -- it is shown when the user goes to its conversation
  elseif not question.proposal then
    if vim.fn.getcmdwintype() == "" then
      present(question, false)
    else
      when_at_rest(function()
        if own().pending[1] == question then
          present(question, false)
        end
      end)
    end
    announce(question) -- afterwards: a notifier that fails hides no question
  elseif is_inline(question) and inline.open(question.proposal, false, function(option, extra)
    choose(question, option, extra)
  end) then
    announce(question) -- its marks are there, its keys and the cursor are not
  elseif not may_open() then
    announce(question)
  else
    local waits = vim.api.nvim_get_mode().mode ~= "n"
    when_at_rest(function()
      if own().pending[1] == question and may_open() then
        present(question, true)
      end
    end)
    if waits then
      announce(question)
    end
  end
end

show_next = function(question)
  vim.schedule(live.bind(function()
    if own().pending[1] == question then
      come_up(question)
    end
  end))
end

---The user has gone to this conversation: a question that has only been told of is shown.
function M.arrive()
  local question = own().pending[1]
  if question and not question.proposal then
    present(question, false)
  end
end

---Show the next edit inside its files.
function M.show_inline()
  own().shows_inline = true
end

---Show the question that waits, if there is one.
---@param style? "tab"|"inline" for an edit; else as it is set up
function M.review(style)
  if not own().pending[1] then
    messages.tell("North: nothing waits for you", vim.log.levels.INFO)
    return
  end
  when_at_rest(function()
    if own().pending[1] then
      present(own().pending[1], true, style)
    end
  end)
end

---Put a question behind those that wait, and let the coroutine sleep until it is decided.
---@param question north.Question without its reply
---@return table result
local function wait(question)
  question.live = live.current()
  local thread = coroutine.running()
  question.reply = function(result)
    vim.schedule(function() -- never before the coroutine sleeps
      coroutine.resume(thread, result)
    end)
  end
  own().pending[#own().pending + 1] = question
  approval.set_count(#own().pending)
  if own().pending[1] == question then
    show_next(question)
  end
  return coroutine.yield()
end

---Answer `elicitation/create`, to be called by its handler, as `request` is.
---@param params table
---@return table result
function M.fill(params)
  compat.validate("params", params, "table")
  return wait({ call = { toolCallId = params.toolCallId, title = params.message }, options = {}, form = params })
end

---How many questions wait.
---@return integer
function M.count()
  return #own().pending
end

---Answer `session/request_permission`, to be called by its handler: Neovim runs that in a coroutine, which sleeps
---until the user has decided.
---@param params table
---@return table result
function M.request(params)
  compat.validate("params", params, "table")
  local call = params.toolCall
  local diffs = vim.tbl_filter(function(part)
    return part.type == "diff"
  end, call.content or {})
  ---@type north.Question
  local question = {
    call = call,
    options = params.options,
  }
  if #diffs > 0 then
    question.proposal = {
      title = select(2, about(params)),
      notes = texts_of(call),
      diffs = diffs,
      options = params.options,
      files = vim.tbl_get(params, "_meta", "north", "files") or {},
    }
  else
    question.approval = approval_of(params)
  end
  return wait(question)
end

---Withdraw the question about a tool call that has ended.
---@param call_id string
function M.withdraw(call_id)
  for _, question in ipairs(own().pending) do
    if question.call.toolCallId == call_id then
      choose(question, nil)
      return
    end
  end
end

---Withdraw all questions: the turn was stopped, or the server is gone.
function M.withdraw_all()
  while own().pending[1] do
    local all = own().pending
    own().pending = { all[1] }
    choose(all[1], nil)
    own().pending = vim.list_slice(all, 2)
  end
end

return M
