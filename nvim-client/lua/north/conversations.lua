---The stored conversations: found by their words, opened, renamed, archived, deleted.
local compat = require("north.compat")
local connection = require("north.connection")
local conversation = require("north.conversation")
local conversation_rows = require("north.conversation_rows")
local live = require("north.live")
local messages = require("north.messages")
local place = require("north.place")

local M = {}

local SHOWN = 200

M.ago, M.line = conversation_rows.ago, conversation_rows.line

---@param error table?
---@return boolean whether there was one; the user has been told
local function failed(error)
  if error then
    messages.tell("North: " .. (error.message or "that failed"), vim.log.levels.ERROR)
  end
  return error ~= nil
end

---@param names string[]
---@param prompt string
---@param on_choice fun(name: string?)
local function choose(names, prompt, on_choice)
  live.select(names, { prompt = prompt, format_item = tostring }, on_choice)
end

---@param title string
---@param query string words that are to be found; all conversations of the project without any
---@param on_choice fun(row: north.Row)
local function pick(title, query, on_choice)
  local everywhere, archived = false, "hidden"
  local words = {}
  for word in query:gmatch("%S+") do
    if word == "--all" then
      everywhere = true
    elseif word == "--archived" then
      archived = "shown"
    else
      words[#words + 1] = word
    end
  end
  conversation.with_server(function(ask, root)
    local params = { query = table.concat(words, " "), limit = SHOWN, archived = archived }
    params.cwd = not everywhere and root or nil
    ask("_north/sessions/search", params, function(error, result)
      if failed(error) or not result then
        return
      end
      if #result.sessions == 0 then
        local found = #words > 0 and ("no conversation has %q in it"):format(params.query) or "there are none here yet"
        messages.tell("North: " .. found, vim.log.levels.INFO)
        return
      end
      for _, row in ipairs(result.sessions) do
        row.isHere = not everywhere -- also what the folder was called before
      end
      local prompt = result.truncated and title .. " (not all could be searched in time)" or title
      live.select(result.sessions, {
        prompt = prompt,
        kind = "north.conversation",
        format_item = function(row)
          return M.line(row, root)
        end,
      }, function(row)
        if row then
          on_choice(row)
        end
      end)
    end)
  end)
end

---@param row north.Row
---@param title string
local function rename(row, title)
  conversation.with_server(function(ask)
    ask("_north/sessions/rename", { sessionId = row.sessionId, title = title }, function(error, result)
      if not failed(error) and result then
        messages.tell(("North: the title is now %s"):format(result.title), vim.log.levels.INFO)
      end
    end)
  end)
end

---@param row north.Row
---@param archived boolean
local function archive(row, archived)
  conversation.with_server(function(ask)
    ask("_north/sessions/archive", { sessionId = row.sessionId, archived = archived }, function(error)
      if not failed(error) then
        local words = archived and "archived: lists and searches leave it out" or "in the lists again"
        messages.tell("North: it is " .. words, vim.log.levels.INFO)
      end
    end)
  end)
end

---@param row north.Row
local function delete(row)
  choose({ "Keep it", "Delete it" }, ("Delete %s?"):format(row.name), function(choice)
    if choice ~= "Delete it" then
      return
    end
    conversation.with_server(function(ask)
      local one = conversation.open_with(row.sessionId)
      if one and one == live.current() then
        conversation.new()
      elseif one then
        conversation.close(one)
      end
      ask("session/delete", { sessionId = row.sessionId }, function(error)
        if not failed(error) then
          messages.tell("North: it is in North's trash for 30 days (:North restore)", vim.log.levels.INFO)
        end
      end)
    end)
  end)
end

---@param row north.Row
local function fork_here(row)
  conversation.with_server(function(ask, root)
    ask("session/fork", { sessionId = row.sessionId, cwd = root, mcpServers = {} }, function(error, result)
      if not failed(error) and result then
        conversation.switch(result.sessionId, root)
      end
    end)
  end)
end

---Show a conversation whose folder is gone: here, or in the folder that the user names.
---@param row north.Row
---@param root string
---@param show fun(id: string, cwd: string, agreed: boolean)
local function open_gone(row, root, show)
  local here, named = "Continue it here", "Name its folder …"
  local about = vim.fn.fnamemodify(row.cwd, ":~")
  choose({ here, named, "Leave it" }, ("It is about %s, which is gone"):format(about), function(choice)
    if choice == here then
      show(row.sessionId, root, true)
    elseif choice == named then
      live.input({ prompt = "Its folder now: ", default = row.cwd, completion = "dir" }, function(typed)
        local folder = vim.fs.normalize(vim.fn.fnamemodify(vim.trim(typed or ""), ":p"))
        if vim.trim(typed or "") == "" then
          return
        elseif vim.fn.isdirectory(folder) == 0 then
          messages.tell(("North: there is no folder %s"):format(folder), vim.log.levels.ERROR)
        else
          show(row.sessionId, folder, true)
        end
      end)
    end
  end)
end

---Show a conversation; one of another folder that is there in a copy for this project, or with its own folder.
---@param row north.Row
---@param stays? boolean the user has gone on, and is not taken to it
local function open(row, stays)
  conversation.with_server(function(_, root)
    if row.isHere or row.cwd == root or conversation.open_with(row.sessionId) then
      return conversation.switch(row.sessionId, row.cwd, nil, stays)
    elseif vim.fn.isdirectory(row.cwd) == 0 then
      return open_gone(row, root, conversation.switch)
    end
    local copy, own = "Copy it into this project", "Open it with its own folder"
    local about = vim.fn.fnamemodify(row.cwd, ":~")
    choose({ copy, own, "Leave it" }, ("It is about %s"):format(about), function(choice)
      if choice == copy then
        fork_here(row)
      elseif choice == own then
        conversation.switch(row.sessionId, row.cwd)
      end
    end)
  end)
end

---@param row north.Row
local function open_in_tab(row)
  conversation.with_server(function(_, root)
    local is_gone = vim.fn.isdirectory(row.cwd) == 0
    if row.isHere or not is_gone or conversation.open_with(row.sessionId) then
      return conversation.in_tab(row.sessionId, row.cwd)
    end
    open_gone(row, root, conversation.in_tab)
  end)
end

---@type table<string, fun(row: north.Row)>
local acts = {
  Open = open,
  ["Open in a tab page of its own"] = open_in_tab,
  ["Rename …"] = function(row)
    live.input({ prompt = "Its title: ", default = row.name }, function(title)
      if title and vim.trim(title) ~= "" then
        rename(row, title)
      end
    end)
  end,
  Archive = function(row)
    archive(row, true)
  end,
  ["Show in the lists again"] = function(row)
    archive(row, false)
  end,
  ["Delete …"] = delete,
}

---Choose a conversation and what to do with it. `--all` and `--archived` among the words widen the choice.
---@param query string
function M.browse(query)
  compat.validate("query", query, "string")
  pick("Conversations", query, function(row)
    local names = { "Open", "Open in a tab page of its own", "Rename …", row.archived and "Show in the lists again" or "Archive", "Delete …" }
    choose(names, row.name, function(name)
      if name then
        acts[name](row)
      end
    end)
  end)
end

---Put a conversation that the server names in place of the one that is shown. What is asked until then is for that one.
---@param method string
---@param params fun(root: string): table
---@param row_of fun(error: table?, result: table?): north.Row?
---@param on_none fun(error: table?, result: table?)
local function open_named(method, params, row_of, on_none)
  local is_still = place.here()
  conversation.with_server(function(ask, root)
    local release = connection.hold()
    ask(method, params(root), function(error, result)
      local row = row_of(error, result)
      if row then
        release(row.sessionId, function()
          open(row, not is_still())
        end)
      else
        release()
        on_none(error, result)
      end
    end)
  end)
end

---@param target string
local function in_place(target)
  open_named("_north/sessions/find", function(root)
    return { target = target, cwd = root }
  end, function(_, row)
    return row
  end, function()
    pick("Continue", target, open)
  end)
end

---Go on with a conversation: the one whose id begins so, else one with these words.
---@param target string
---@param on_choice? fun(row: north.Row) without it, it takes the place of the one that is shown
function M.resume(target, on_choice)
  compat.validate("target", target, "string")
  if target == "" or target:find("%s") then
    return pick("Continue", target, on_choice or open)
  elseif not on_choice then
    return in_place(target)
  end
  conversation.with_server(function(ask, root)
    ask("_north/sessions/find", { target = target, cwd = root }, function(_, row)
      if row then
        on_choice(row)
      else
        pick("Continue", target, on_choice)
      end
    end)
  end)
end

---Begin a conversation of its own in a new tab page, or go on there with one that the words or the id name.
---@param target string
function M.in_tab(target)
  compat.validate("target", target, "string")
  if target == "" then
    conversation.in_tab()
  else
    M.resume(target, open_in_tab)
  end
end

---Go on with what this window showed last in the project, else with the newest conversation.
function M.continue()
  open_named("_north/sessions/last", function(root)
    return { cwd = root, windowId = connection.window_id() }
  end, function(_, result)
    local row = result and result.session
    if type(row) == "table" then
      row.isHere = true
      return row
    end
  end, function(error)
    if not failed(error) then
      messages.tell("North: there is no conversation of this folder yet", vim.log.levels.INFO)
    end
  end)
end

---Give the conversation that is shown a title.
---@param title string
function M.rename(title)
  compat.validate("title", title, "string")
  if vim.trim(title) == "" then
    messages.tell("North: usage: :North rename {title}", vim.log.levels.ERROR)
    return
  end
  conversation.with_session(function(id)
    rename({ sessionId = id }, title)
  end)
end

---Hide the conversation that is shown from lists, and begin a new one.
function M.archive()
  conversation.with_session(function(id)
    archive({ sessionId = id }, true)
    conversation.new()
  end)
end

---Choose a deleted conversation, put it back and show it.
---@param query string words in its title or prompts; `--all`: of all projects
function M.restore(query)
  compat.validate("query", query, "string")
  local words, everywhere = query:gsub("%-%-all", "")
  conversation.with_server(function(ask, root)
    local params = { query = vim.trim(words), cwd = everywhere == 0 and root or nil }
    ask("_north/sessions/trash", params, function(error, result)
      if failed(error) or not result then
        return
      end
      if #result.sessions == 0 then
        local where = everywhere == 0 and " (:North restore --all looks at all projects)" or ""
        messages.tell("North: there is no such conversation in the trash" .. where, vim.log.levels.INFO)
        return
      end
      live.select(result.sessions, {
        prompt = "Restore",
        kind = "north.conversation",
        format_item = function(row)
          return M.line(row, root)
        end,
      }, function(row)
        if row then
          ask("_north/sessions/restore", { sessionId = row.sessionId }, function(refused, restored)
            if not failed(refused) and restored then
              open(restored)
            end
          end)
        end
      end)
    end)
  end)
end

---Take over the log of a conversation from a file, and show it.
---@param path string
function M.import(path)
  compat.validate("path", path, "string")
  if path == "" then
    messages.tell("North: usage: :North import {file}", vim.log.levels.ERROR)
    return
  end
  local file = vim.fn.fnamemodify(vim.fn.expand(path), ":p")
  conversation.with_server(function(ask, root)
    local function take_in(salvage)
      local params = { path = file, cwd = root, salvage = salvage }
      ask("_north/sessions/import", params, function(error, result)
        if error and not salvage and vim.tbl_get(error, "data", "canBeSalvaged") then
          choose({ "Leave it", "Copy what can be read" }, error.message, function(choice)
            if choice == "Copy what can be read" then
              take_in(true)
            end
          end)
        elseif not failed(error) and result then
          if result.leftOut > 0 then
            local lines = result.leftOut == 1 and "one line" or result.leftOut .. " lines"
            messages.tell(("North: %s could not be read"):format(lines), vim.log.levels.WARN)
          end
          conversation.switch(result.sessionId, root)
        end
      end)
    end
    take_in(false)
  end)
end

---Choose a conversation to delete.
---@param query string
function M.delete(query)
  pick("Delete", query, delete)
end

return M
