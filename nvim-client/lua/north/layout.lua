---Where the chat's two windows stand: beside the files, below them, as floats, or in a tab page of their own. Both come
---and go together, and neither ever stands in the tab page of a review.
local config = require("north.config")
local folds = require("north.folds")

local M = {}

local NARROW, LEAST = 80, 44
local REVIEW = "north_review"

---@class north.Windows
---@field chat integer -1 where it is not open
---@field prompt integer

---@class north.ChatBuffers
---@field chat integer
---@field prompt integer

local group = vim.api.nvim_create_augroup("north.layout", { clear = true })

---Keep the chat out of a tab page.
---@param tab integer
function M.reserve(tab)
  vim.api.nvim_tabpage_set_var(tab, REVIEW, true)
end

---@param tab integer
---@return boolean
local function is_reserved(tab)
  return (pcall(vim.api.nvim_tabpage_get_var, tab, REVIEW))
end

---The windows of the present tab page.
---@param buffers north.ChatBuffers
---@return north.Windows
function M.find(buffers)
  local found = { chat = -1, prompt = -1 }
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    for name, buffer in pairs(buffers) do
      if found[name] == -1 and vim.api.nvim_win_get_buf(window) == buffer then
        found[name] = window
      end
    end
  end
  return found
end

---@param window integer
---@param options table<string, any>
local function set(window, options)
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { win = window, scope = "local" })
  end
end

---@param window integer
local function plain(window)
  set(window, {
    number = false,
    relativenumber = false,
    signcolumn = "no",
    foldcolumn = "0",
    wrap = true,
    linebreak = true,
    spell = false,
    list = false,
    winfixwidth = true,
    cursorline = false,
    colorcolumn = "",
  })
end

---@return "right"|"left"|"bottom"|"float"|"tab"
local function place()
  local wanted = config.current.layout
  if wanted ~= "auto" then
    return wanted
  end
  return vim.o.columns < NARROW and "bottom" or "right"
end

---@param share number
---@param all integer
---@param least integer
---@return integer
local function size(share, all, least)
  return math.max(least, math.floor(share < 1 and all * share or share))
end

---@param chat integer
---@return integer window
local function open_chat(chat)
  local where = place()
  if where == "tab" then
    vim.cmd.tabnew()
    local window, empty = vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf()
    vim.api.nvim_win_set_buf(window, chat)
    pcall(vim.api.nvim_buf_delete, empty, {})
    return window
  elseif where == "float" then
    local width = math.min(vim.o.columns - 4, math.max(40, math.floor(vim.o.columns * 0.8)))
    local height = math.max(4, vim.o.lines - config.current.prompt_height - 8)
    local options = { relative = "editor", width = width, height = height, row = 1, border = "rounded" }
    options.col = math.floor((vim.o.columns - width) / 2) - 1
    return vim.api.nvim_open_win(chat, false, options)
  elseif where == "bottom" then
    local height = math.floor(vim.o.lines / 2)
    return vim.api.nvim_open_win(chat, false, { split = "below", win = -1, height = height })
  end
  local least = math.min(LEAST, math.floor(vim.o.columns / 2))
  local width = size(config.current.width, vim.o.columns, config.current.width < 1 and least or 20)
  return vim.api.nvim_open_win(chat, false, { split = where, win = -1, width = width })
end

---@param prompt integer
---@param chat_window integer
---@return integer window
local function open_prompt(prompt, chat_window)
  local height = config.current.prompt_height
  local shown = vim.api.nvim_win_get_config(chat_window)
  if shown.relative ~= "" then
    local options = { relative = "editor", width = shown.width, height = height, border = "rounded" }
    options.row, options.col = shown.row + shown.height + 2, shown.col
    return vim.api.nvim_open_win(prompt, false, options)
  end
  return vim.api.nvim_open_win(prompt, false, { split = "below", win = chat_window, height = height })
end

---Close a window, or put an empty buffer into it where it is the last one.
---@param window integer
function M.close_window(window)
  if not vim.api.nvim_win_is_valid(window) then
    return
  end
  if pcall(vim.api.nvim_win_close, window, true) then
    return
  end
  set(window, { winfixheight = false, winfixwidth = false, winbar = "" })
  vim.api.nvim_win_call(window, function()
    vim.cmd("silent enew")
  end)
end

---Where the chat goes, the window to type in goes, too.
---@param window integer
---@param buffers north.ChatBuffers
local function follow(window, buffers)
  local tab = vim.api.nvim_win_get_tabpage(window)
  vim.api.nvim_create_autocmd("WinClosed", {
    group = group,
    pattern = tostring(window),
    once = true,
    desc = "North: the window to type in goes with the chat",
    callback = function()
      vim.schedule(function()
        if not vim.api.nvim_tabpage_is_valid(tab) then
          return
        end
        for _, other in ipairs(vim.api.nvim_tabpage_list_wins(tab)) do
          if vim.api.nvim_win_is_valid(other) and vim.api.nvim_win_get_buf(other) == buffers.prompt then
            M.close_window(other)
          end
        end
      end)
    end,
  })
end

---Go to a tab page that is no review's; false where the user is in one and shall stay there.
---@param focus boolean
---@return boolean
local function leave_review(focus)
  if not is_reserved(vim.api.nvim_get_current_tabpage()) then
    return true
  elseif not focus then
    return false
  end
  for _, tab in ipairs(vim.api.nvim_list_tabpages()) do
    if not is_reserved(tab) then
      vim.api.nvim_set_current_tabpage(tab)
      return true
    end
  end
  vim.cmd.tabnew()
  return true
end

---@type table<integer, integer> how high each window to type in is to be
local heights = {}
local comes_or_goes = false

---Whether other windows are above or below: what is as high as the screen would take its height from the command line.
---@param window integer
---@param layout? any a part of `winlayout()`
---@return boolean
local function is_stacked(window, layout)
  layout = layout or vim.fn.winlayout(vim.api.nvim_tabpage_get_number(vim.api.nvim_win_get_tabpage(window)))
  if layout[1] == "leaf" then
    return false
  end
  for _, part in ipairs(layout[2]) do
    if (layout[1] == "col" and part[1] == "leaf" and part[2] == window) or is_stacked(window, part) then
      return true
    end
  end
  return false
end

---Whether a question is open in this tab page: it needs the rows that it has taken from other windows.
---@return boolean
local function is_asking()
  return vim.iter(vim.api.nvim_tabpage_list_wins(0)):any(function(window)
    return vim.w[window].north_asks == true
  end)
end

vim.api.nvim_create_autocmd({ "WinNew", "WinClosed", "VimResized" }, {
  group = group,
  desc = "North: sizes that change now do so on their own",
  callback = function(event)
    local window = event.event == "WinClosed" and tonumber(event.match) or vim.api.nvim_get_current_win()
    local is_known = event.event ~= "VimResized" and vim.api.nvim_win_is_valid(window)
    local is_float = is_known and vim.api.nvim_win_get_config(window).relative ~= ""
    comes_or_goes = comes_or_goes or not is_float
  end,
})

vim.api.nvim_create_autocmd("SafeState", {
  group = group,
  desc = "North: what changes from now on is the user's doing; sizes were told before",
  callback = function()
    comes_or_goes = comes_or_goes and vim.startswith(vim.api.nvim_get_mode().mode, "c") -- there they are told afterwards
  end,
})

vim.api.nvim_create_autocmd("WinResized", {
  group = group,
  desc = "North: the window to type in stays as high as the user has made it, and gets no room of windows that go",
  callback = function()
    if is_asking() then
      return
    end
    for window, height in pairs(heights) do
      if not vim.api.nvim_win_is_valid(window) then
        heights[window] = nil
      elseif vim.list_contains(vim.v.event.windows, window) and is_stacked(window) then
        if comes_or_goes then
          vim.api.nvim_win_set_height(window, height)
        else
          heights[window] = vim.api.nvim_win_get_height(window)
        end
      end
    end
    comes_or_goes = false
  end,
})

---Whether a window is seen for the first time: it was opened just now, or by a session file.
---@param window integer
---@return boolean
local function is_new(window)
  local is_known = vim.w[window].north_is_known
  vim.w[window].north_is_known = true
  return not is_known
end

---Open what is missing of the two windows in this tab page.
---@param buffers north.ChatBuffers
---@param focus boolean whether to go to the window to type in
function M.open(buffers, focus)
  if not leave_review(focus) then
    return
  end
  local before = vim.api.nvim_get_current_win()
  local found = M.find(buffers)
  if found.chat == -1 then
    if found.prompt ~= -1 then
      local was_here = before == found.prompt
      M.close_window(found.prompt)
      found.prompt, before = -1, was_here and vim.api.nvim_get_current_win() or before
    end
    found.chat = open_chat(buffers.chat)
  end
  if is_new(found.chat) then
    plain(found.chat)
    set(found.chat, { conceallevel = 2, winfixheight = false })
    folds.apply(found.chat)
    vim.api.nvim_win_set_cursor(found.chat, { vim.api.nvim_buf_line_count(buffers.chat), 0 })
    follow(found.chat, buffers)
  end
  if found.prompt == -1 then
    found.prompt = open_prompt(buffers.prompt, found.chat)
  end
  if is_new(found.prompt) then
    plain(found.prompt)
    set(found.prompt, { winfixheight = true, foldenable = false })
    heights[found.prompt] = vim.api.nvim_win_get_height(found.prompt)
  end
  local target = focus and found.prompt or before
  if vim.api.nvim_win_is_valid(target) then
    vim.api.nvim_set_current_win(target)
  end
end

---Close both windows in this tab page.
---@param buffers north.ChatBuffers
---@return boolean whether one was open
function M.close(buffers)
  local found = M.find(buffers)
  for _, window in ipairs({ found.chat, found.prompt }) do
    if window ~= -1 then
      M.close_window(window)
    end
  end
  return found.chat ~= -1 or found.prompt ~= -1
end

---The chat in a tab page of its own, and back.
---@param buffers north.ChatBuffers
function M.zoom(buffers)
  if vim.t.north_zoomed then
    if #vim.api.nvim_list_tabpages() > 1 then
      vim.cmd.tabclose()
    end
    return
  end
  vim.cmd.tabnew()
  local empty = vim.api.nvim_get_current_win()
  vim.t.north_zoomed = true
  vim.api.nvim_open_win(buffers.chat, false, { split = "right", win = empty })
  vim.api.nvim_win_close(empty, true)
  M.open(buffers, true)
end

return M
