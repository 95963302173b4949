---A command (or another question without texts to compare) in a split of its own: why it asks and the keys on top, the
---whole of it below. It opens without the cursor, and no key decides outside of it.
local below = require("north.below")
local compat = require("north.compat")
local config = require("north.config")
local keys = require("north.keys")
local live = require("north.live")
local messages = require("north.messages")

local M = {}

local MOST_HEADER, SHARE = 9, 0.4

---@class north.Approval
---@field heading string what is asked
---@field body string the command, or the words
---@field is_command boolean
---@field notes string[] what is to be known beside it
---@field options north.Option[]

---@class north.ShownApproval
---@field approval north.Approval
---@field choose fun(option: north.Option, extra?: north.Extra)
---@field count integer how many questions wait
---@field windows { header: integer, body: integer }
---@field buffers { header: integer, body: integer }
---@field keys north.Key[]
---@field armed? north.Key a key that allows more than this once was pressed: the next press holds
---@field to_read integer how many lines of the header are more than details; the last one has to be in view
---@field group integer

---@class north.KeptApproval
---@field current? north.ShownApproval
local own = live.keep("approval", function()
  return {}
end)

---@param what string
---@param lines string[]
---@return integer
local function make_buffer(what, lines)
  local name = live.buffer_name(what)
  local former = vim.fn.bufnr(("^%s$"):format(name)) -- may be left over from a restored session
  if former ~= -1 then
    pcall(vim.api.nvim_buf_delete, former, { force = true })
  end
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buffer, name)
  vim.bo[buffer].bufhidden = "wipe"
  vim.api.nvim_buf_set_lines(buffer, 0, -1, true, lines)
  vim.bo[buffer].modifiable = false
  return buffer
end

---What is to be known, warnings first: details come from the model, too, and push nothing out of view.
---@param notes string[]
---@return string[] warnings
---@return string[] details
local function parts_of(notes)
  local warnings, details, warns = {}, {}, false
  for _, paragraph in ipairs(vim.split(table.concat(notes, "\n\n"), "\n%s*\n")) do
    local words = vim.trim(paragraph)
    warns = warns or vim.startswith(words, "**")
    if words ~= "" then
      table.insert(warns and warnings or details, (words:gsub("%*%*", ""):gsub("%s*\n%s*", " ")))
    end
    warns = warns and not vim.endswith(words, "**")
  end
  return warnings, details
end

---@param shown north.ShownApproval
---@return string[] lines
---@return integer to_read
local function header_of(shown)
  local approval = shown.approval
  local more = shown.count > 1 and (" (1 of %d questions)"):format(shown.count) or ""
  local names = {}
  for _, key in ipairs(shown.keys) do
    names[#names + 1] = ("%s %s"):format(key.key, key.label)
  end
  if approval.is_command then
    table.insert(names, 2, config.current.keys.edit .. " change it first")
  end
  local lines = { approval.heading .. more, table.concat(names, " │ ") }
  local warnings, details = parts_of(approval.notes)
  for _, warning in ipairs(warnings) do
    lines[#lines + 1] = "⚠ " .. warning
  end
  if shown.armed then
    local option = shown.armed.option
    local scope = vim.tbl_get(option, "_meta", "north", "scope") or option.name
    lines[#lines + 1] = ("⚠ Without asking: %s. It applies until you revoke it with :North permissions. Press %s again to allow it."):format(
      scope,
      shown.armed.key
    )
  end
  local to_read = #lines > 2 and #lines or 0
  vim.list_extend(lines, details) -- each on a line of its own: a model's words do not run into North's
  return lines, to_read
end

---Draw the header again, as high as it has to be.
---@param shown north.ShownApproval
local function draw(shown)
  local buffer, window = shown.buffers.header, shown.windows.header
  local lines
  lines, shown.to_read = header_of(shown)
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, true, lines)
  vim.bo[buffer].modifiable = false
  local height = vim.api.nvim_win_text_height(window, {}).all
  vim.api.nvim_win_set_height(window, math.min(height, MOST_HEADER))
end

---Whether the end of a line is in view.
---@param window integer
---@param line integer from 1
---@return boolean
local function is_in_view(window, line)
  local text = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), line - 1, line, true)[1]
  return vim.fn.screenpos(window, line, math.max(#text, 1)).row > 0
end

---Bring what has to be read of the header into view.
---@param shown north.ShownApproval
local function show_warnings(shown)
  local text = vim.api.nvim_buf_get_lines(shown.buffers.header, shown.to_read - 1, shown.to_read, true)[1]
  vim.api.nvim_win_set_cursor(shown.windows.header, { shown.to_read, #text })
end

---Whether what is allowed can be read: the end of the command, and that of the warnings. What cannot is brought into
---view, or the user is told how to.
---@param shown north.ShownApproval
---@param key north.Key
---@return boolean
local function is_seen(shown, key)
  if not is_in_view(shown.windows.body, vim.api.nvim_buf_line_count(shown.buffers.body)) then
    messages.tell("North: there is more of it below; scroll to its end (G) before you allow it", vim.log.levels.WARN)
    return false
  elseif shown.to_read > 0 and not is_in_view(shown.windows.header, shown.to_read) then
    show_warnings(shown)
    messages.tell(("North: read the warning above, then press %s again to allow it"):format(key.key), vim.log.levels.WARN)
    return false
  end
  return true
end

---@param shown north.ShownApproval
---@param key north.Key
local function decide(shown, key)
  local kind = key.option.kind
  local extra = nil
  if vim.startswith(kind, "allow") then
    if not is_seen(shown, key) then
      return
    end
    local text = table.concat(vim.api.nvim_buf_get_lines(shown.buffers.body, 0, -1, true), "\n")
    if shown.approval.is_command and text ~= shown.approval.body then
      if kind ~= "allow_once" then
        messages.tell("North: a command that you changed runs once; it cannot be allowed permanently", vim.log.levels.WARN)
        return
      end
      extra = { command = text }
    elseif kind == "allow_always" and shown.armed ~= key then
      shown.armed = key
      draw(shown)
      show_warnings(shown)
      return
    end
  end
  if not key.asks then
    shown.choose(key.option, extra)
    return
  end
  live.input({ prompt = "North, what is wrong with it? " }, function(comment)
    if comment and own().current == shown then
      shown.choose(key.option, comment ~= "" and { comment = comment } or nil)
    end
  end)
end

---@param shown north.ShownApproval
local function map(shown)
  for _, buffer in pairs(shown.buffers) do
    for _, key in ipairs(shown.keys) do
      vim.keymap.set("n", key.key, function()
        decide(shown, key)
      end, { buffer = buffer, nowait = true, desc = "North: " .. key.label })
    end
    if shown.approval.is_command then
      vim.keymap.set("n", config.current.keys.edit, function()
        vim.bo[shown.buffers.body].modifiable = true
        vim.api.nvim_set_current_win(shown.windows.body)
        messages.tell("North: change it; the text as it is then runs", vim.log.levels.INFO)
      end, { buffer = buffer, nowait = true, desc = "North: change the command" })
    end
  end
end

---@return boolean
local function is_open()
  return own().current ~= nil and vim.api.nvim_win_is_valid(own().current.windows.body)
end

---Show it, in the present tab page; `focus` goes there.
---@param approval north.Approval
---@param count integer how many questions wait
---@param focus boolean
---@param choose fun(option: north.Option, extra?: north.Extra) called for a key of an offered option, and for nothing else
function M.open(approval, count, focus, choose)
  compat.validate("approval", approval, "table")
  compat.validate("choose", choose, "function")
  if is_open() and own().current and own().current.approval == approval then
    local here = vim.api.nvim_win_get_tabpage(own().current.windows.body) == vim.api.nvim_get_current_tabpage()
    if focus or here then
      if focus then
        vim.api.nvim_set_current_win(own().current.windows.body)
      end
      return
    end
  end
  M.close()
  local lines = vim.split(approval.body, "\n", { plain = true })
  local body, header = make_buffer(approval.is_command and "command" or "details", lines), make_buffer("question", {})
  vim.bo[body].syntax = approval.is_command and "sh" or "markdown"
  local before = vim.api.nvim_get_current_win()
  local body_window = below.open(body, 3)
  vim.w[body_window].north_asks = true
  local header_window = vim.api.nvim_open_win(header, false, { split = "above", win = body_window, height = 3 })
  for _, window in ipairs({ body_window, header_window }) do
    for option, value in pairs({ number = false, relativenumber = false, signcolumn = "no", foldenable = false }) do
      vim.api.nvim_set_option_value(option, value, { win = window, scope = "local" })
    end
    for option, value in pairs({ wrap = true, list = false, spell = false, winfixheight = true }) do
      vim.api.nvim_set_option_value(option, value, { win = window, scope = "local" })
    end
    vim.api.nvim_set_option_value("linebreak", window == header_window, { win = window, scope = "local" })
    vim.api.nvim_set_option_value("smoothscroll", true, { win = window, scope = "local" })
    vim.api.nvim_set_option_value("winbar", "", { win = window, scope = "local" })
  end
  ---@type north.ShownApproval
  local shown = {
    approval = approval,
    choose = choose,
    count = count,
    windows = { header = header_window, body = body_window },
    buffers = { header = header, body = body },
    keys = keys.of(approval.options),
    to_read = 0,
    group = vim.api.nvim_create_augroup("north.approval." .. live.current().id, { clear = true }),
  }
  own().current = shown
  map(shown)
  local most = math.max(3, math.floor(vim.o.lines * SHARE))
  vim.api.nvim_win_set_height(body_window, math.min(vim.api.nvim_win_text_height(body_window, {}).all, most))
  draw(shown)
  vim.api.nvim_set_current_win(focus and body_window or before)
  vim.api.nvim_create_autocmd("WinClosed", {
    group = shown.group,
    pattern = { tostring(body_window), tostring(header_window) },
    desc = "It is closed as a whole; it stays pending",
    callback = live.bind(function()
      vim.schedule(live.bind(function()
        if own().current == shown then
          M.close()
        end
      end))
    end),
  })
end

---Another number of questions waits.
---@param count integer
function M.set_count(count)
  if is_open() and own().current and own().current.count ~= count then
    own().current.count = count
    draw(own().current)
  end
end

---Close it; this decides nothing.
function M.close()
  local shown = own().current
  if not shown then
    return
  end
  own().current = nil
  vim.api.nvim_clear_autocmds({ group = shown.group })
  below.close(shown.windows.body, shown.windows.header)
end

return M
