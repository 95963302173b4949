---The goal and the workflow of a conversation: in a few words in the chat's winbar, and whole in a float, where the user
---decides what there is to decide.
local document = require("north.document")
local float = require("north.float")
local live = require("north.live")
local refused = require("north.answers").refused
local messages = require("north.messages")
local place = require("north.place")

local M = {}

local MARKS = { open = "[ ]", met = "[x]", stale = "[~]", failed = "[!]" }
local STATES = {
  open = "open",
  met = "met",
  stale = "was met; files have changed since",
  failed = "failed",
}

---@class north.Criterion
---@field id string
---@field text string
---@field command? string
---@field state "open"|"met"|"stale"|"failed"
---@field evidence? { text: string, at: string }

---@class north.Decision
---@field id "continue"|"confirm"|"stop"|"drop"
---@field title string
---@field prompt string what to send
---@field consequence? string what is confirmed before

---@class north.Work
---@field goal? { statement: string, status: string, blocked?: string, criteria: north.Criterion[] }
---@field workflow? { name: string, folder: string, phase: string, phases: { name: string, state: string }[], note?: string, held?: table }
---@field decisions north.Decision[]

---@class north.KeptWork
---@field now north.Work
---@field markdown string the goal as a document
---@field rows table<integer, north.Decision> what is decided in a line of the float
---@field armed? north.Decision one that has to be chosen again
local own = live.keep("work", function()
  return { now = { decisions = {} }, markdown = "", rows = {} }
end)

---@type north.Document
local goal_document = {
  name = "goal",
  title = " Goal · :w saves, empty drops it · q closes ",
  get = "_north/goal/get",
  set = "_north/goal/set",
  take = function(result)
    own().markdown = result.markdown
  end,
  lines = function()
    return vim.split(own().markdown, "\n", { trimempty = true })
  end,
}

---@param value any
---@return any what it is, nil for JSON's null
local function some(value)
  if value ~= vim.NIL then
    return value
  end
end

---How many criteria are met, and how many are not any more.
---@param goal table
---@return integer met, integer stale
local function counted(goal)
  local met, stale = 0, 0
  for _, one in ipairs(goal.criteria) do
    met = met + (one.state == "met" and 1 or 0)
    stale = stale + (one.state == "stale" and 1 or 0)
  end
  return met, stale
end

---It in a few words, for the winbar.
---@return string? words nil where there is neither
function M.words()
  local goal, workflow = some(own().now.goal), some(own().now.workflow)
  local parts = {}
  if workflow then
    local held = some(workflow.held)
    local closed = held and not held.spent and ", changes are held" or ""
    parts[1] = ("%s: %s%s"):format(workflow.name, workflow.phase, closed)
  end
  if goal then
    local met, stale = counted(goal)
    local more = goal.status ~= "active" and ", " .. goal.status or stale > 0 and (", %d stale"):format(stale) or ""
    parts[#parts + 1] = ("goal %d/%d%s"):format(met, #goal.criteria, more)
  end
  return #parts > 0 and table.concat(parts, " · ") or nil
end

---@param goal table
---@param add fun(line: string)
local function add_goal(goal, add)
  add("# Goal: " .. goal.statement)
  if goal.status ~= "active" then
    add(some(goal.blocked) and ("Blocked: %s"):format(goal.blocked) or goal.status)
  end
  add("")
  for _, one in ipairs(goal.criteria) do
    add(("- %s %s: %s%s"):format(MARKS[one.state], one.id, one.text, some(one.command) and (" `%s`"):format(one.command) or ""))
    local said = some(one.evidence) and one.evidence.text
    add(("      %s%s"):format(STATES[one.state], said and said ~= "" and (" (%s)"):format(said) or ""))
  end
end

---@param workflow table
---@param add fun(line: string)
local function add_workflow(workflow, add)
  local kind = workflow.folder == "" and "Skill" or "Workflow"
  add(("# %s: %s"):format(kind, workflow.name))
  local phases = vim.tbl_map(function(one)
    return one.state == "now" and ("**%s**"):format(one.name) or one.state == "done" and "✓ " .. one.name or one.name
  end, workflow.phases)
  add(table.concat(phases, " → "))
  if workflow.folder ~= "" then
    add("In " .. workflow.folder)
  end
  if some(workflow.note) then
    add(workflow.note)
  end
  local held = some(workflow.held)
  if held then
    add("")
    add("Held: " .. held.why)
    if some(held.callsLeft) then
      add(("Read-only calls left: %d"):format(held.callsLeft))
    end
    if some(held.roundsLeft) then
      add(("Rounds of questions left: %d"):format(held.roundsLeft))
    end
  end
end

---@return string[] lines, table<integer, north.Decision> rows
local function page()
  local now, lines, rows = own().now, {}, {}
  local goal, workflow = some(now.goal), some(now.workflow)
  local function add(line)
    vim.list_extend(lines, vim.split(line, "\n"))
  end
  if goal then
    add_goal(goal, add)
  end
  if workflow then
    if goal then
      add("")
    end
    add_workflow(workflow, add)
  end
  if #now.decisions > 0 then
    add("")
    add("# You can decide")
    for number, one in ipairs(now.decisions) do
      add(("%d. %s%s"):format(number, one.title, some(one.consequence) and (": " .. one.consequence) or ""))
      rows[#lines] = one
    end
  end
  return #lines > 0 and lines or { "There is no goal and no workflow in this conversation." }, rows
end

---@return integer buffer -1 where there is none
local function find()
  return vim.fn.bufnr(("^%s$"):format(live.buffer_name("work")))
end

local function refresh()
  local buffer = find()
  if buffer >= 0 and vim.api.nvim_buf_is_loaded(buffer) then
    local lines
    lines, own().rows = page()
    vim.bo[buffer].modifiable = true
    vim.api.nvim_buf_set_lines(buffer, 0, -1, true, lines)
    vim.bo[buffer].modifiable, vim.bo[buffer].modified = false, false
  end
end

---Take what the server tells of it, all of it each time.
---@param told north.Work
function M.set(told)
  own().now, own().armed = { goal = told.goal, workflow = told.workflow, decisions = told.decisions or {} }, nil
  refresh()
  require("north.state").show() -- which needs this module
end

---There is none any more: another conversation is shown, or another place of it.
function M.clear()
  own().now, own().armed = { decisions = {} }, nil
  refresh()
end

---@param say fun(text: string) sends a prompt
---@param decision? north.Decision
local function decide(say, decision)
  if not decision then
    return
  end
  if decision.id == "continue" and #require("north.state").prompts > 0 then
    messages.tell("North: a turn runs; it continues on its own", vim.log.levels.INFO)
  elseif some(decision.consequence) and own().armed ~= decision then
    own().armed = decision
    messages.tell(("North: %s. %s Decide again to confirm."):format(decision.title, decision.consequence), vim.log.levels.WARN)
  else
    say(decision.prompt)
  end
end

---@param ask north.Ask
---@param say fun(text: string)
---@return integer buffer
local function make(ask, say)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buffer, live.buffer_name("work"))
  vim.bo[buffer].bufhidden, vim.bo[buffer].filetype = "hide", "markdown"
  local function map(key, what, act)
    vim.keymap.set("n", key, live.bind(act), { buffer = buffer, nowait = true, desc = "North: " .. what })
  end
  map("<CR>", "decide what the line says", function()
    decide(say, own().rows[vim.api.nvim_win_get_cursor(0)[1]])
  end)
  for number = 1, 9 do
    map(tostring(number), "decide this", function()
      decide(say, own().now.decisions[number])
    end)
  end
  map("e", "edit the goal", function()
    vim.cmd.close()
    M.edit(ask)
  end)
  map("q", "close", function()
    vim.cmd.close()
  end)
  return buffer
end

---Show it in a float.
---@param ask north.Ask
---@param say fun(text: string)
function M.open(ask, say)
  local open_there = place.stay("the list")
  ask("_north/work/get", vim.empty_dict(), function(error, result)
    if error or not result then
      refused(error)
      return
    end
    local buffer = find()
    buffer = buffer >= 0 and buffer or make(ask, say)
    M.set(result)
    open_there(function()
      float.open(buffer, " Goal and workflow · Enter or a number decides · e edits the goal · q closes ")
    end)
  end)
end

---Show the goal as a document in a float, to be edited there.
---@param ask north.Ask
function M.edit(ask)
  document.edit(ask, goal_document)
end

return M
