---A proposed edit as a tab page: the text before on the left, the proposed text on the right, the keys on top. The right
---side is what accepting applies: `do` takes a hunk out there, and one may type. A file can be left out as a whole.
local compat = require("north.compat")
local config = require("north.config")
local deciding = require("north.deciding")
local file_rows = require("north.file_rows")
local keys = require("north.keys")
local layout = require("north.layout")
local live = require("north.live")
local texts = require("north.texts")

local M = {}

local MOST_FILES = 6

---@class north.Diff
---@field path string
---@field oldText? string nil for a new file
---@field newText string

---@class north.Proposal
---@field title string
---@field notes string[] why it asks, where there are reasons
---@field diffs north.Diff[]
---@field options north.Option[] what was offered
---@field files { path: string, kind?: string, hunks: { id: string }[] }[] as the server knows them; may be empty

---@class north.Review : north.Decidable
---@field proposal north.Proposal
---@field texts table<string, string> what the user made of the proposed texts, by path
---@field left_out table<string, boolean> the files that shall not be changed, by path
---@field tab integer
---@field origin integer the tab page it was opened from
---@field windows { header: integer, before: integer, after: integer }
---@field keys north.Key[]
---@field file integer
---@field words string[] what the header says above the files
---@field group integer

---@class north.Extra
---@field texts? table<string, string>
---@field hunks? table<string, string[]> what stands, by path; without it everything does
---@field command? string what the user made of the command
---@field comment? string

---@class north.KeptReview
---@field current? north.Review
local own = live.keep("review", function()
  return {}
end)

---@param text string
---@return string
local function escaped(text)
  return (text:gsub("%%", "%%%%"))
end

local show

---What the server knows of a file of the proposal.
---@param review north.Review
---@param diff north.Diff
---@return { kind?: string, hunks: { id: string }[] }?
local function known(review, diff)
  return vim.iter(review.proposal.files):find(function(file)
    return file.path == diff.path
  end)
end

---A new or a deleted file stands or falls as a whole: there are no hunks to take out.
---@param review north.Review
---@param diff north.Diff
---@return boolean
local function is_whole(review, diff)
  local file = known(review, diff)
  return diff.oldText == nil or (file ~= nil and (file.kind == "create" or file.kind == "delete"))
end

---@param review north.Review
---@param diff north.Diff
---@return boolean
local function is_deletion(review, diff)
  local file = known(review, diff)
  return file ~= nil and file.kind == "delete"
end

---Keep what the user made of the shown file's proposed text.
---@param review north.Review
local function keep(review)
  local diff = review.proposal.diffs[review.file]
  if review.left_out[diff.path] then
    return -- what is shown is what stays
  end
  local form = texts.form(diff.newText)
  local buffer = vim.api.nvim_win_get_buf(review.windows.after)
  local text = texts.joined(vim.api.nvim_buf_get_lines(buffer, 0, -1, true), form)
  review.texts[diff.path] = text ~= texts.joined(texts.lines(diff.newText, form), form) and text or nil
end

---What stands of the proposal, for the server; nil for everything, false for nothing.
---@param review north.Review
---@return north.Extra|false|nil
local function what_stands(review)
  local hunks, changed, is_all, is_any = {}, {}, true, false
  for _, file in ipairs(review.proposal.files) do
    hunks[file.path] = vim.tbl_map(function(hunk)
      return hunk.id
    end, file.hunks)
  end
  for _, diff in ipairs(review.proposal.diffs) do
    local text = review.texts[diff.path]
    if review.left_out[diff.path] or (text and text == diff.oldText) then
      hunks[diff.path], is_all = nil, false
    elseif text then
      changed[diff.path], is_all, is_any = text, false, true
    else
      hunks[diff.path] = hunks[diff.path] or {}
      is_any = true
    end
  end
  if is_all then
    return nil
  elseif not is_any and #review.proposal.files <= #review.proposal.diffs then
    return false
  end
  return {
    hunks = next(hunks) and hunks or vim.empty_dict(),
    texts = next(changed) and changed or nil,
  }
end

---@param review north.Review
---@param key north.Key
local function decide(review, key)
  deciding.decide(review, key, function()
    keep(review)
    return what_stands(review)
  end, function()
    return own().current == review
  end)
end

---Leave the shown file out, or take it in again.
---@param review north.Review
local function toggle(review)
  keep(review)
  local path = review.proposal.diffs[review.file].path
  review.left_out[path] = not review.left_out[path] or nil
  show(review)
end

---@param review north.Review
---@param step integer
local function move(review, step)
  keep(review)
  local count = #review.proposal.diffs
  review.file = (review.file - 1 + step) % count + 1
  show(review)
end

---A buffer in a window, with the review's keys; read-only but for the proposed text.
---@param review north.Review
---@param window integer
---@param lines string[]
---@param name string
---@param diff? north.Diff
local function fill(review, window, lines, name, diff)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = "wipe"
  local undolevels = vim.bo[buffer].undolevels
  vim.bo[buffer].undolevels = -1 -- the text itself cannot be undone
  vim.api.nvim_buf_set_lines(buffer, 0, -1, true, lines)
  vim.bo[buffer].undolevels = undolevels
  vim.bo[buffer].modifiable = diff ~= nil
    and window == review.windows.after
    and not is_deletion(review, diff)
    and not review.left_out[diff.path]
  vim.bo[buffer].modified = false
  vim.api.nvim_win_set_buf(window, buffer)
  local taken = vim.fn.bufnr("^" .. name .. "$")
  if taken ~= -1 and taken ~= buffer then
    pcall(vim.api.nvim_buf_delete, taken, { force = true }) -- left over from a restored session
  end
  pcall(vim.api.nvim_buf_set_name, buffer, name)
  if diff then
    texts.dress(buffer, diff.path)
    if is_whole(review, diff) or review.left_out[diff.path] then
      for _, key in ipairs({ "do", "dp" }) do
        vim.keymap.set("n", key, function()
          toggle(review)
        end, { buffer = buffer, nowait = true, desc = "North: leave this file out" })
      end
    end
    vim.keymap.set("n", config.current.keys.leave, function()
      toggle(review)
    end, { buffer = buffer, nowait = true, desc = "North: leave this file out" })
  end
  for _, key in ipairs(review.keys) do
    vim.keymap.set("n", key.key, function()
      decide(review, key)
    end, { buffer = buffer, nowait = true, desc = "North: " .. key.label })
  end
  if #review.proposal.diffs > 1 then
    for name, step in pairs({ next = 1, previous = -1 }) do
      vim.keymap.set("n", config.current.keys[name], function()
        move(review, step)
      end, { buffer = buffer, nowait = true, desc = "North: the " .. name .. " file" })
    end
  end
end

---The header: what is asked, and the files where there are several.
---@param review north.Review
local function draw_header(review)
  local lines = vim.deepcopy(review.words)
  if #review.proposal.diffs > 1 then
    for index, diff in ipairs(review.proposal.diffs) do
      local file = known(review, diff)
      lines[#lines + 1] = " "
        .. file_rows.line({
          path = diff.path,
          kind = file and file.kind or (diff.oldText == nil and "create" or nil),
          is_shown = index == review.file,
          is_out = review.left_out[diff.path] or false,
          old = diff.oldText,
          new = review.texts[diff.path] or diff.newText,
        })
    end
  end
  local window = review.windows.header
  local buffer = vim.api.nvim_win_get_buf(window)
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, true, lines)
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].modified = false
  vim.api.nvim_win_set_height(window, math.min(#lines, #review.words + MOST_FILES) + 1) -- one for its winbar
end

---Show the file in the header's line under the cursor.
---@param review north.Review
local function choose_file(review)
  local index = vim.fn.line(".") - #review.words
  if review.proposal.diffs[index] and #review.proposal.diffs > 1 then
    keep(review)
    review.file = index
    show(review)
    vim.api.nvim_set_current_win(review.windows.after)
  end
end

---Show the current file of a review.
---@param review north.Review
show = function(review)
  local diff = review.proposal.diffs[review.file]
  local windows = review.windows
  local name = escaped(vim.fn.fnamemodify(diff.path, ":~:."))
  local is_left_out = review.left_out[diff.path] or false
  local after = is_left_out and (diff.oldText or "") or review.texts[diff.path] or diff.newText
  for side, text in pairs({ before = diff.oldText or "", after = after }) do
    local window = windows[side]
    vim.api.nvim_win_call(window, vim.cmd.diffoff)
    local lines = texts.lines(text, texts.form(side == "before" and text or diff.newText))
    fill(review, window, lines, ("%s/%s"):format(live.buffer_name(side), vim.fn.fnamemodify(diff.path, ":t")), diff)
    vim.api.nvim_win_call(window, vim.cmd.diffthis)
    local label = side == "before" and (diff.oldText and "before" or "new file")
      or is_left_out and "LEFT OUT, not changed"
      or is_deletion(review, diff) and "is deleted"
      or "proposed"
    vim.wo[window][0].winbar = ("%%< %s: %s"):format(label, name)
  end
  local shown, rest = {}, {}
  for _, key in ipairs(review.keys) do
    local is_plain = key.option.kind ~= "allow_always" and not key.asks
    local into = is_plain and shown or rest -- what is needed most is not cut off
    into[#into + 1] = ("%%#Keyword#%s%%* %s"):format(escaped(key.key), escaped(key.label))
  end
  local set = config.current.keys
  local count = #review.proposal.diffs
  if not is_whole(review, diff) and not is_left_out then
    shown[#shown + 1] = "%#Keyword#do%* take the hunk out"
  end
  if count > 1 then
    local what = is_left_out and "take this file in" or "leave this file out"
    shown[#shown + 1] = ("%%#Keyword#%s%%* %s"):format(escaped(set.leave), what)
    shown[#shown + 1] = ("%s %s file %d of %d"):format(escaped(set.previous), escaped(set.next), review.file, count)
  end
  vim.list_extend(shown, rest)
  vim.wo[windows.header][0].winbar = " " .. table.concat(shown, " │ ") .. "%<"
  draw_header(review)
  vim.api.nvim_win_call(windows.after, function()
    vim.cmd("silent! normal! gg]c") -- to the first change; a file may begin with it
  end)
end

---Open the tab page, or go to it when it is open already.
---@param proposal north.Proposal
---@param choose fun(option: north.Option, extra?: north.Extra) called for a key of an offered option, and for nothing else
function M.open(proposal, choose)
  compat.validate("proposal", proposal, "table")
  compat.validate("choose", choose, "function")
  if own().current and own().current.proposal == proposal and vim.api.nvim_tabpage_is_valid(own().current.tab) then
    vim.api.nvim_set_current_tabpage(own().current.tab)
    vim.api.nvim_set_current_win(own().current.windows.after)
    return
  end
  M.close()
  local one, origin = live.current(), vim.api.nvim_get_current_tabpage()
  vim.cmd("tab split")
  local header = vim.api.nvim_get_current_win()
  local review = {
    proposal = proposal,
    choose = choose,
    tab = vim.api.nvim_get_current_tabpage(),
    origin = origin,
    keys = keys.of(proposal.options),
    texts = {},
    left_out = {},
    file = 1,
    group = vim.api.nvim_create_augroup("north.review." .. live.current().id, { clear = true }),
  }
  local words = { " " .. proposal.title }
  for _, note in ipairs(proposal.notes) do
    words[#words + 1] = " ⚠ " .. note:gsub("\n", " ")
  end
  ---@cast review north.Review
  review.windows = { header = header, before = 0, after = 0 }
  review.words = words
  live.claim(one)
  layout.reserve(review.tab)
  fill(review, header, words, live.buffer_name("review"))
  vim.keymap.set("n", "<CR>", function()
    choose_file(review)
  end, { buffer = vim.api.nvim_win_get_buf(header), nowait = true, desc = "North: show this file" })
  local scratch = vim.api.nvim_win_get_buf(header)
  review.windows.before = vim.api.nvim_open_win(scratch, false, { split = "below", win = header })
  review.windows.after = vim.api.nvim_open_win(scratch, true, { split = "right", win = review.windows.before })
  vim.wo[header][0].winfixheight = true
  vim.wo[header][0].number = false
  vim.wo[header][0].diff = false
  own().current = review
  show(review)
  local ids = vim.tbl_map(tostring, vim.tbl_values(review.windows))
  vim.api.nvim_create_autocmd("WinClosed", {
    group = review.group,
    pattern = ids,
    desc = "A review is closed as a whole; it stays pending",
    callback = live.bind(function()
      vim.schedule(live.bind(function()
        if own().current == review then
          M.close()
        end
      end))
    end),
  })
end

---Close the tab page; this decides nothing.
function M.close()
  local review = own().current
  if not review then
    return
  end
  own().current = nil
  vim.api.nvim_clear_autocmds({ group = review.group })
  if not vim.api.nvim_tabpage_is_valid(review.tab) then
    return
  end
  local was_there = vim.api.nvim_get_current_tabpage() == review.tab
  if #vim.api.nvim_list_tabpages() == 1 then
    vim.cmd.tabnew()
  end
  vim.cmd.tabclose(vim.api.nvim_tabpage_get_number(review.tab))
  if was_there and vim.api.nvim_tabpage_is_valid(review.origin) then
    vim.api.nvim_set_current_tabpage(review.origin)
  end
end

return M
