---Taking applied edits back and doing them again. What was changed since is lost only where the user says so.
local chat = require("north.chat")
local live = require("north.live")
local refused = require("north.answers").refused
local messages = require("north.messages")

local M = {}

local RESTORE = "_north/checkpoints/restore"
local DONE = { restored = true, merged = true, overwritten = true, marked = true }
local ANSWERS = {
  { title = "Keep later changes", conflicts = "skip" },
  { title = "Write both with conflict marks", conflicts = "merge" },
  { title = "Discard later changes", conflicts = "overwrite" },
}

---@alias north.Ask fun(method: string, params: table, on_answer: fun(error: table?, result: table?))

---@param result table
function M.tell(result)
  local done, left = {}, {}
  for _, file in ipairs(result.files) do
    if DONE[file.outcome] then
      done[#done + 1] = file.path
    elseif file.outcome ~= "unchanged" then
      left[#left + 1] = ("%s (%s)"):format(file.path, file.detail or file.outcome)
    end
  end
  pcall(vim.cmd.checktime)
  if #left > 0 then
    messages.tell("North: not restored: " .. table.concat(left, ", "), vim.log.levels.WARN)
  end
  if #done > 0 then
    messages.tell("North restored " .. table.concat(done, ", "))
    chat.add_notice("Restored " .. table.concat(done, ", "))
  elseif #left == 0 then
    messages.tell("North restored nothing: the files are already in that state")
  end
end

---Ask what to do with files that were changed later at the same place; nothing is asked where there are none.
---@param planned table
---@param on_answer fun(conflicts: string) is not called if the user gives up
function M.decide(planned, on_answer)
  local met = vim.tbl_filter(function(file)
    return file.outcome == "conflict"
  end, planned.files)
  if #met == 0 then
    on_answer("skip")
    return
  end
  local names = table.concat(vim.tbl_map(function(file)
    return file.path
  end, met), ", ")
  live.select(ANSWERS, {
    prompt = ("Changed later at the same place: %s"):format(names),
    format_item = function(answer)
      return answer.title
    end,
  }, function(answer)
    if answer then
      on_answer(answer.conflicts)
    end
  end)
end

---Take back what `way` names: `{ steps = 1 }`, `{ redo = 1 }`, `{ checkpointId = … }` or `{ since = … }`.
---@param ask north.Ask
---@param way table
function M.take_back(ask, way)
  local function restore(conflicts)
    ask(RESTORE, vim.tbl_extend("error", way, { conflicts = conflicts }), function(error, result)
      if error or not result then
        refused(error)
      else
        M.tell(result)
      end
    end)
  end
  ask(RESTORE, vim.tbl_extend("error", way, { dryRun = true }), function(error, planned)
    if error or not planned then
      refused(error)
    else
      M.decide(planned, restore)
    end
  end)
end

local WAYS = {
  { title = "Undo this one alone", key = "checkpointId" },
  { title = "Undo this one and all later ones", key = "since" },
}

---Choose one of the states before applied edits, and what is taken back.
---@param ask north.Ask
function M.checkpoints(ask)
  ask("_north/checkpoints/list", vim.empty_dict(), function(error, result)
    if error or not result then
      refused(error)
      return
    end
    local rows = vim.fn.reverse(result.checkpoints)
    if #rows == 0 then
      messages.tell("North: this conversation has changed nothing yet", vim.log.levels.INFO)
      return
    end
    live.select(rows, {
      prompt = "Checkpoints, the newest first",
      kind = "north.checkpoint",
      format_item = function(row)
        local added, removed = 0, 0
        for _, file in ipairs(row.files) do
          added, removed = added + (file.linesAdded or 0), removed + (file.linesRemoved or 0)
        end
        local counts = #row.files > 0 and ("  (%d files, +%d/-%d)"):format(#row.files, added, removed) or ""
        return ("%s: %s%s"):format(row.kind, row.title, counts)
      end,
    }, function(row)
      if not row then
        return
      end
      local ways = row.kind == "point" and { WAYS[2] } or WAYS
      local function title(way)
        return way.title
      end
      live.select(ways, { prompt = row.title, format_item = title }, function(way)
        if way then
          M.take_back(ask, { [way.key] = row.checkpointId })
        end
      end)
    end)
  end)
end

---Let the user choose among the edits of the conversation that stand, the newest first.
---@param ask north.Ask
function M.choose(ask)
  ask("_north/checkpoints/list", {}, function(error, result)
    if error or not result then
      refused(error)
      return
    end
    local edits = {}
    for _, checkpoint in ipairs(result.checkpoints) do
      local stands = vim.iter(checkpoint.files):any(function(file)
        return not file.undone
      end)
      if checkpoint.kind == "edit" and stands then
        table.insert(edits, 1, checkpoint)
      end
    end
    if #edits == 0 then
      messages.tell("North: this conversation has no edit to undo")
      return
    end
    live.select(edits, {
      prompt = "The edit to undo",
      format_item = function(checkpoint)
        return checkpoint.title
      end,
    }, function(checkpoint)
      if checkpoint then
        M.take_back(ask, { checkpointId = checkpoint.checkpointId })
      end
    end)
  end)
end

return M
