---The prompts of the conversation: sent, waiting and answered, and the turn that an earlier process left.
local chat = require("north.chat")
local completion = require("north.completion")
local editor_state = require("north.editor_state")
local events = require("north.events")
local live = require("north.live")
local state = require("north.state")
local unsent = require("north.unsent")

local M = {}

local AUTH_REQUIRED = -32000

---Show the conversation that a slash command asked for, now that it is answered.
function M.take_wanted()
  local wanted = state.wanted
  state.wanted = nil
  if wanted then
    wanted()
  end
end

---@param prompt north.Prompt
local function show_prompt(prompt)
  if not prompt.visible then
    prompt.visible = true
    chat.add_user(prompt.shown)
  end
end

---Take back what the server does not send, but for what comes back by itself: prompts, and words for the turn.
---@param queued any rows of `{ id, text }`
local function take_back_told(queued)
  local known = vim.list_extend(vim.list_extend(vim.list_slice(state.prompts), state.steers), state.returned)
  local items = unsent.of_server(queued, known, function(one)
    one.was_told = true
  end)
  state.returned = vim.tbl_filter(function(one)
    return not one.was_told
  end, state.returned)
  unsent.take_back(items)
end

---What was given up, in the order in which it was sent; it is not given up any more.
---@return north.Prompt[]
local function take_given_up()
  local items = state.given_up
  state.given_up = {}
  table.sort(items, function(one, other)
    return (one.stopped or 0) < (other.stopped or 0)
  end)
  return items
end

---Take back what was given up, once all that was stopped with it is answered.
local function take_back_given_up()
  local is_answered = #state.left == 0 and not vim.iter(state.prompts):any(function(one)
    return one.stopped
  end)
  if is_answered then
    unsent.take_back(take_given_up())
  end
end

---Whether the server has nothing of a prompt: it is no part of the conversation, and was not run.
---@param result table?
---@return boolean
local function is_unsent(result)
  return vim.tbl_get(result or {}, "_meta", "north", "unsent") == true
end

---Whether the server has a prompt or runs it, as far as is known: a command has no turn that begins.
---@param prompt north.Prompt
---@return boolean
local function is_with_server(prompt)
  local is_command = vim.startswith(prompt.text, "!") or completion.is_command(prompt.text)
  return prompt.begun or prompt.taken or (prompt.visible and is_command)
end

---@param prompt north.Prompt
---@param error table?
---@param result table?
local function answered(prompt, error, result)
  local stop_reason = result and result.stopReason
  if error then
    chat.add_notice(error.message or "the turn failed", "error")
    -- The server refused it; it has it all the same if only a key is missing.
    local give = error.code == AUTH_REQUIRED and unsent.take_back or unsent.give_back
    give(prompt.begun and {} or { prompt })
  elseif stop_reason == "cancelled" then
    if is_unsent(result) then
      table.insert(state.given_up, prompt)
    else
      show_prompt(prompt) -- it may have shared the turn of another one
    end
    if prompt.visible then
      chat.add_stop()
    elseif not prompt.withdrawn then
      chat.add_notice("Given up: " .. prompt.text)
    end
  elseif stop_reason ~= "end_turn" then
    chat.add_notice(("Ended: %s"):format(stop_reason), "warning")
  end
  take_back_told(vim.tbl_get(result or {}, "_meta", "north", "queued"))
  state.prompts = vim.tbl_filter(function(other)
    return other ~= prompt
  end, state.prompts)
  take_back_given_up()
  state.previous = is_unsent(result) and state.previous or prompt.text
  local following = state.prompts[1]
  if following and not following.stopped and not state.wanted then -- otherwise it is left unanswered
    show_prompt(following)
  end
  pcall(vim.cmd.checktime)
  state.show()
  events.fire("TurnEnd", { stop_reason = stop_reason, error = error and error.message or nil })
  M.take_wanted()
end

---A prompt of a conversation that has been left is answered.
---@param prompt north.Prompt
---@param error table?
---@param result table?
local function answered_late(prompt, error, result)
  if not vim.list_contains(state.left, prompt) then
    return -- nobody has waited for that
  end
  state.left = vim.tbl_filter(function(other)
    return other ~= prompt
  end, state.left)
  if error and not prompt.begun or is_unsent(result) then
    table.insert(state.given_up, prompt)
  end
  take_back_given_up()
end

---Remember which conversation is shown, and since when.
---@return fun(): boolean is_here whether it has been shown ever since
function M.from_here()
  local session_id, switches = state.session_id, state.switches
  return function()
    return session_id == state.session_id and switches == state.switches
  end
end

---@param prompt north.Prompt
function M.send(prompt)
  table.insert(state.prompts, prompt)
  state.first = state.first or prompt.text
  if #state.prompts == 1 then
    show_prompt(prompt)
  end
  events.fire("TurnStart", { text = prompt.text })
  local is_here = M.from_here()
  -- During a turn it waits: words for the turn itself are steered.
  local meta = { north = { behavior = "followUp", editorState = editor_state.now() } }
  local params = { sessionId = state.session_id, prompt = prompt.blocks, _meta = meta }
  state.request("session/prompt", params, function(error, result)
    if is_here() then
      answered(prompt, error, result)
    else
      answered_late(prompt, error, result)
    end
  end)
  state.show()
end

---The turn of what was sent first has begun.
function M.note_turn()
  if state.prompts[1] then
    state.prompts[1].taken = true
  end
end

---Something of the answer has come: the server has the prompt of the turn that runs.
function M.note_answer()
  if state.prompts[1] then
    state.prompts[1].begun = true
  end
end

local stops = 0

---The user stops what runs, and what waits for its turn.
function M.stop()
  for _, prompt in ipairs(state.prompts) do
    if not prompt.stopped then
      stops = stops + 1
      prompt.stopped = stops
    end
  end
end

---Nothing runs and nothing waits for its turn here any more.
---@param result { stop_reason?: string, error?: string } what is told of the turns
---@return north.Prompt[] cut what ran and waited
local function cut_off(result)
  local cut = state.prompts
  state.prompts, state.wanted = {}, nil
  for _ in ipairs(cut) do
    events.fire("TurnEnd", result)
  end
  return cut
end

---What was stopped and is not answered is waited for no longer, since nobody will answer.
---@return north.Prompt[] items what the server does not have, as far as is known
function M.let_go()
  for _, prompt in ipairs(state.left) do
    if not is_with_server(prompt) then
      table.insert(state.given_up, prompt)
    end
  end
  state.left = {}
  return take_given_up()
end

---Nothing runs and nothing waits for its turn any more, since nobody will answer.
---@param result { stop_reason?: string, error?: string } what is told of the turns
---@return north.Prompt[] cut what ran and waited
function M.cut(result)
  unsent.take_back(M.let_go())
  return cut_off(result)
end

---The conversation is left, which stops what runs in it. The answers bring back what the server has nothing of.
---@param is_heard boolean whether they are heard
---@return north.Prompt[] items what comes back without them
function M.leave(is_heard)
  M.stop()
  vim.list_extend(state.left, cut_off({ stop_reason = "cancelled" }))
  return is_heard and {} or M.let_go()
end

---Those that the server that is gone never had, as far as is known.
---@param cut north.Prompt[]
---@return north.Prompt[]
function M.untaken(cut)
  local first = cut[1]
  local was_taken = first ~= nil and (first.begun or first.stopped)
  return vim.list_slice(cut, was_taken and 2 or 1)
end

---Which prompt the server's text is about: it shows what is attached behind the words.
---@param all north.Prompt[]
---@param text string
---@return integer?
local function index_of(all, text)
  local best, length = nil, -1
  for index, prompt in ipairs(all) do
    local same = prompt.text == text or vim.startswith(text, prompt.text .. "\n\n") or prompt.text == ""
    if same and not prompt.visible and #prompt.text > length then
      best, length = index, #prompt.text
    end
  end
  return best
end

---Words for the turn that runs that the user has taken back.
---@type fun(): table<string, boolean>
local withdrawn = live.keep("prompts", function()
  return {}
end)

---The user takes back a prompt that waits.
---@param text string as the server has it
---@return north.Attachment[] attached what went along with it
function M.withdraw(text)
  local index = index_of(state.prompts, text)
  if index then
    state.prompts[index].withdrawn = true
    return state.prompts[index].attached or {}
  else
    withdrawn()[text] = true
    return {}
  end
end

---Whether the user has taken back words for the turn that runs; asked once.
---@param text string
---@return boolean
function M.was_withdrawn(text)
  local was = withdrawn()[text] == true
  withdrawn()[text] = nil
  return was
end

---The user has changed the order of the prompts that wait.
---@param rows table[] what the server says of them
function M.order(rows)
  local rest, ordered = vim.list_slice(state.prompts, 2), { state.prompts[1] }
  for _, row in ipairs(rows) do
    local index = index_of(rest, row.text)
    if index then
      ordered[#ordered + 1] = table.remove(rest, index)
    end
  end
  state.prompts = vim.list_extend(ordered, rest)
end

---Go on with the turn that an earlier process left: its question is asked again.
function M.resume()
  if #state.prompts > 0 then
    return
  end
  ---@type north.Prompt
  local prompt = { blocks = {}, text = "", shown = "", visible = true }
  table.insert(state.prompts, prompt)
  local is_here = M.from_here()
  state.request("_north/turn/resume", { sessionId = state.session_id }, function(error, result)
    if is_here() then
      answered(prompt, error, result)
    end
  end)
  state.show()
end

return M
