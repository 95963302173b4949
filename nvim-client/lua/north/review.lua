---A proposed edit as a tab page: the text before on the left, the proposed text on the right, the keys on top. The right
---side is what accepting applies: `do` takes a hunk out there, and one may type.
local config = require("north.config")

local M = {}

---@class north.Diff
---@field path string
---@field oldText? string nil for a new file
---@field newText string

---@class north.Proposal
---@field title string
---@field notes string[] why it asks, where there are reasons
---@field diffs north.Diff[]
---@field options north.Option[] what was offered

---@class north.Option
---@field optionId string
---@field name string
---@field kind string

---@class north.Review
---@field proposal north.Proposal
---@field choose fun(option: north.Option, extra?: north.Extra)
---@field texts table<string, string> what the user made of the proposed texts, by path
---@field tab integer
---@field origin integer the tab page it was opened from
---@field windows { header: integer, before: integer, after: integer }
---@field keys north.Key[]
---@field file integer
---@field group integer

---@class north.Extra
---@field texts? table<string, string>
---@field comment? string

---@class north.Key
---@field key string
---@field option north.Option
---@field label string
---@field asks? boolean the user is asked for a comment

---@type north.Review?
local current

local key_names = { allow_once = "accept", allow_always = "always", reject_once = "reject" }

---The keys of the options that were offered: those that are set up, then g1, g2, …
---@param options north.Option[]
---@return north.Key[]
local function keys_of(options)
  local keys, used = {}, {}
  for index, option in ipairs(options) do
    local name = key_names[option.kind]
    local key = name and config.current.keys[name] or nil
    if key == nil or used[key] then
      key = "g" .. index
    end
    used[key] = true
    keys[#keys + 1] = { key = key, option = option, label = option.name }
    if name == "reject" and not used[config.current.keys.comment] then
      used[config.current.keys.comment] = true
      local label = option.name .. ", and say why"
      keys[#keys + 1] = { key = config.current.keys.comment, option = option, label = label, asks = true }
    end
  end
  return keys
end

---@param text string
---@return string
local function escaped(text)
  return (text:gsub("%%", "%%%%"))
end

---@param text string
---@return string[]
local function lines_of(text)
  local lines = vim.split(text, "\n", { plain = true })
  if #lines > 1 and lines[#lines] == "" then
    lines[#lines] = nil
  end
  return lines
end

local show

---Keep what the user made of the shown file's proposed text.
---@param review north.Review
local function keep(review)
  local diff = review.proposal.diffs[review.file]
  local buffer = vim.api.nvim_win_get_buf(review.windows.after)
  local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, true)
  if vim.deep_equal(lines, lines_of(diff.newText)) then
    review.texts[diff.path] = nil
  else
    review.texts[diff.path] = table.concat(lines, "\n") .. (diff.newText:sub(-1) == "\n" and "\n" or "")
  end
end

---@param review north.Review
---@param key north.Key
local function decide(review, key)
  if vim.startswith(key.option.kind, "allow") then
    keep(review)
    review.choose(key.option, next(review.texts) and { texts = review.texts } or nil)
  elseif key.asks then
    vim.ui.input({ prompt = "North, what is wrong with it? " }, function(comment)
      if comment and current == review then
        review.choose(key.option, comment ~= "" and { comment = comment } or nil)
      end
    end)
  else
    review.choose(key.option)
  end
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
---@param path? string
local function fill(review, window, lines, name, path)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = "wipe"
  local undolevels = vim.bo[buffer].undolevels
  vim.bo[buffer].undolevels = -1 -- the text itself cannot be undone
  vim.api.nvim_buf_set_lines(buffer, 0, -1, true, lines)
  vim.bo[buffer].undolevels = undolevels
  vim.bo[buffer].modifiable = window == review.windows.after
  vim.bo[buffer].modified = false
  vim.api.nvim_win_set_buf(window, buffer)
  vim.api.nvim_buf_set_name(buffer, "north://" .. name) -- after the buffer of that name, if any, has left its window
  if path then
    -- The syntax alone: the file type would start language servers and the like for a text that is no file.
    vim.bo[buffer].syntax = vim.filetype.match({ filename = path, buf = buffer }) or ""
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

---Show the current file of a review.
---@param review north.Review
show = function(review)
  local diff = review.proposal.diffs[review.file]
  local windows = review.windows
  local name = escaped(vim.fn.fnamemodify(diff.path, ":~:."))
  for side, text in pairs({ before = diff.oldText or "", after = review.texts[diff.path] or diff.newText }) do
    local window = windows[side]
    vim.api.nvim_win_call(window, vim.cmd.diffoff)
    fill(review, window, lines_of(text), ("%s/%s"):format(side, vim.fn.fnamemodify(diff.path, ":t")), diff.path)
    vim.api.nvim_win_call(window, vim.cmd.diffthis)
    local label = side == "after" and "proposed" or (diff.oldText and "before" or "new file")
    vim.wo[window][0].winbar = (" %s: %s"):format(label, name)
  end
  local shown = {}
  for _, key in ipairs(review.keys) do
    shown[#shown + 1] = ("%%#Keyword#%s%%* %s"):format(escaped(key.key), escaped(key.label))
  end
  shown[#shown + 1] = "%#Keyword#do%* take the hunk out"
  local count = #review.proposal.diffs
  if count > 1 then
    local keys = config.current.keys
    shown[#shown + 1] = ("%s %s file %d of %d"):format(escaped(keys.previous), escaped(keys.next), review.file, count)
  end
  vim.wo[windows.header][0].winbar = " " .. table.concat(shown, " │ ")
  vim.api.nvim_win_call(windows.after, function()
    vim.cmd("silent! normal! gg]c") -- to the first change; a file may begin with it
  end)
end

---Open the tab page, or go to it when it is open already.
---@param proposal north.Proposal
---@param choose fun(option: north.Option, extra?: north.Extra) called for a key of an offered option, and for nothing else
function M.open(proposal, choose)
  vim.validate("proposal", proposal, "table")
  vim.validate("choose", choose, "function")
  if current and current.proposal == proposal and vim.api.nvim_tabpage_is_valid(current.tab) then
    vim.api.nvim_set_current_tabpage(current.tab)
    return
  end
  M.close()
  local origin = vim.api.nvim_get_current_tabpage()
  vim.cmd("tab split")
  local header = vim.api.nvim_get_current_win()
  local review = {
    proposal = proposal,
    choose = choose,
    tab = vim.api.nvim_get_current_tabpage(),
    origin = origin,
    keys = keys_of(proposal.options),
    texts = {},
    file = 1,
    group = vim.api.nvim_create_augroup("north.review", { clear = true }),
  }
  local words = { " " .. proposal.title }
  for _, note in ipairs(proposal.notes) do
    words[#words + 1] = " ⚠ " .. note:gsub("\n", " ")
  end
  ---@cast review north.Review
  review.windows = { header = header, before = 0, after = 0 }
  fill(review, header, words, "review")
  local scratch = vim.api.nvim_win_get_buf(header)
  review.windows.before = vim.api.nvim_open_win(scratch, false, { split = "below", win = header })
  review.windows.after = vim.api.nvim_open_win(scratch, true, { split = "right", win = review.windows.before })
  vim.wo[header][0].winfixheight = true
  vim.wo[header][0].number = false
  vim.wo[header][0].diff = false
  vim.api.nvim_win_set_height(header, #words + 1) -- one for its winbar
  current = review
  show(review)
  local ids = vim.tbl_map(tostring, vim.tbl_values(review.windows))
  vim.api.nvim_create_autocmd("WinClosed", {
    group = review.group,
    pattern = ids,
    desc = "A review is closed as a whole; it stays pending",
    callback = function()
      vim.schedule(function()
        if current == review then
          M.close()
        end
      end)
    end,
  })
end

---Close the tab page; this decides nothing.
function M.close()
  local review = current
  if not review then
    return
  end
  current = nil
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
