---A proposed edit as a tab page: the text before on the left, the proposed text on the right, the keys on top.
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
---@field choose fun(option: north.Option)
---@field tab integer
---@field origin integer the tab page it was opened from
---@field windows { header: integer, before: integer, after: integer }
---@field keys { [1]: string, [2]: north.Option }[]
---@field file integer
---@field group integer

---@type north.Review?
local current

local key_names = { allow_once = "accept", allow_always = "always", reject_once = "reject" }

---The keys of the options that were offered: those that are set up, then g1, g2, …
---@param options north.Option[]
---@return { [1]: string, [2]: north.Option }[]
local function keys_of(options)
  local keys, used = {}, {}
  for index, option in ipairs(options) do
    local name = key_names[option.kind]
    local key = name and config.current.keys[name] or nil
    if key == nil or used[key] then
      key = "g" .. index
    end
    used[key] = true
    keys[#keys + 1] = { key, option }
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

---@param review north.Review
---@param step integer
local function move(review, step)
  local count = #review.proposal.diffs
  review.file = (review.file - 1 + step) % count + 1
  show(review)
end

---A read-only buffer in a window, with the review's keys.
---@param review north.Review
---@param window integer
---@param lines string[]
---@param name string
---@param path? string
local function fill(review, window, lines, name, path)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = "wipe"
  vim.bo[buffer].undolevels = -1
  vim.api.nvim_buf_set_lines(buffer, 0, -1, true, lines)
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].modified = false
  vim.api.nvim_win_set_buf(window, buffer)
  vim.api.nvim_buf_set_name(buffer, "north://" .. name) -- after the buffer of that name, if any, has left its window
  if path then
    -- The syntax alone: the file type would start language servers and the like for a text that is no file.
    vim.bo[buffer].syntax = vim.filetype.match({ filename = path, buf = buffer }) or ""
  end
  for _, pair in ipairs(review.keys) do
    vim.keymap.set("n", pair[1], function()
      review.choose(pair[2])
    end, { buffer = buffer, nowait = true, desc = "North: " .. pair[2].name })
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
  for side, text in pairs({ before = diff.oldText or "", after = diff.newText }) do
    local window = windows[side]
    vim.api.nvim_win_call(window, vim.cmd.diffoff)
    fill(review, window, lines_of(text), ("%s/%s"):format(side, vim.fn.fnamemodify(diff.path, ":t")), diff.path)
    vim.api.nvim_win_call(window, vim.cmd.diffthis)
    local label = side == "after" and "proposed" or (diff.oldText and "before" or "new file")
    vim.wo[window][0].winbar = (" %s: %s"):format(label, name)
  end
  local shown = {}
  for _, pair in ipairs(review.keys) do
    shown[#shown + 1] = ("%%#Keyword#%s%%* %s"):format(escaped(pair[1]), escaped(pair[2].name))
  end
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
---@param choose fun(option: north.Option) called for a key of an offered option, and for nothing else
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
