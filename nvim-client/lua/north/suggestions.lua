---What North proposes while one types: the rest of what has begun, or the edit that follows from the last one. It is
---shown in the file as virtual text, and nothing changes before the user takes it.
local compat = require("north.compat")
local live = require("north.live")
require("north.highlights")

local M = {}

local METHOD = "textDocument/inlineCompletion"
local AUTOMATIC = 2

local namespace = vim.api.nvim_create_namespace("north.suggestions")

---@class north.Suggestion
---@field buffer integer
---@field tick integer of the text that it is about
---@field range integer[] row and column of its start and of its end, in bytes from 0
---@field lines string[] what comes there

---@type north.Suggestion?
local shown
---@type table<north.Live, boolean> the conversations whose server was asked for
local started = setmetatable({}, { __mode = "k" })

---Take away what is shown.
---@return boolean whether anything was
function M.dismiss()
  local one = shown
  shown = nil
  if one and vim.api.nvim_buf_is_valid(one.buffer) then
    vim.api.nvim_buf_clear_namespace(one.buffer, namespace, 0, -1)
  end
  return one ~= nil
end

---Whether the window shows a row.
---@param row integer from 0
---@return boolean
local function is_in_view(row)
  return row + 1 >= vim.fn.line("w0") and row + 1 <= vim.fn.line("w$")
end

---@param one north.Suggestion
local function draw(one)
  local row, column, last_row, last_column = unpack(one.range)
  if row ~= last_row or column ~= last_column then
    local removed = { end_row = last_row, end_col = last_column, hl_group = "NorthRemoved" }
    vim.api.nvim_buf_set_extmark(one.buffer, namespace, row, column, removed)
  end
  local below = vim.tbl_map(function(line)
    return { { line, "NorthSuggestion" } }
  end, vim.list_slice(one.lines, 2))
  vim.api.nvim_buf_set_extmark(one.buffer, namespace, last_row, last_column, {
    virt_text = one.lines[1] ~= "" and { { one.lines[1], "NorthSuggestion" } } or nil,
    virt_text_pos = "inline",
    virt_lines = #below > 0 and below or nil,
  })
  if not is_in_view(row) then
    local here = vim.api.nvim_win_get_cursor(0)[1] - 1
    local words = { { ("  North: line %d"):format(row + 1), "NorthFacts" } }
    vim.api.nvim_buf_set_extmark(one.buffer, namespace, here, 0, { virt_text = words, virt_text_pos = "eol" })
  end
end

---@param buffer integer
---@param position lsp.Position
---@param encoding string
---@return integer row, integer column in bytes
local function place(buffer, position, encoding)
  local line = vim.api.nvim_buf_get_lines(buffer, position.line, position.line + 1, false)[1] or ""
  return position.line, compat.byte(line, encoding, position.character)
end

---Show what the server has answered, unless the text is another one by now.
---@param buffer integer
---@param tick integer
---@param item { insertText: string, range: lsp.Range }
---@param encoding string
local function show(buffer, tick, item, encoding)
  if vim.api.nvim_get_current_buf() ~= buffer or vim.api.nvim_buf_get_changedtick(buffer) ~= tick then
    return
  end
  M.dismiss()
  local row, column = place(buffer, item.range.start, encoding)
  local last_row, last_column = place(buffer, item.range["end"], encoding)
  local one = {
    buffer = buffer,
    tick = tick,
    range = { row, column, last_row, last_column },
    lines = vim.split(item.insertText, "\r?\n"),
  }
  if last_row < vim.api.nvim_buf_line_count(buffer) then
    shown = one
    draw(one)
  end
end

---Ask what belongs into the current buffer; the server waits for a pause, and forgets what was asked before.
---@param buffer integer
local function ask(buffer)
  local client = vim.lsp.get_clients({ bufnr = buffer, name = "north" })[1]
  if not client then
    return
  end
  local tick = vim.api.nvim_buf_get_changedtick(buffer)
  local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
  params.context = { triggerKind = AUTOMATIC }
  compat.call(client, "request", METHOD, params, function(_, result)
    local item = type(result) == "table" and (result.items or {})[1]
    if item then
      show(buffer, tick, item, client.offset_encoding)
    end
  end, buffer)
end

---@param one north.Suggestion
local function apply(one)
  if not vim.api.nvim_buf_is_valid(one.buffer) or vim.api.nvim_buf_get_changedtick(one.buffer) ~= one.tick then
    return
  end
  M.dismiss()
  local row, column, last_row, last_column = unpack(one.range)
  vim.bo[one.buffer].undolevels = vim.bo[one.buffer].undolevels -- one step of undo, in Insert mode, too
  vim.api.nvim_buf_set_text(one.buffer, row, column, last_row, last_column, one.lines)
  local last = #one.lines
  local at = { row + last, #one.lines[last] + (last == 1 and column or 0) }
  vim.api.nvim_win_set_cursor(0, at)
end

---Take what is shown; where its line is out of view, go there first. May be called in an `expr` mapping.
---@return boolean whether there was anything
function M.take()
  local one = shown
  if not one or one.buffer ~= vim.api.nvim_get_current_buf() then
    return false
  end
  vim.schedule(function()
    if is_in_view(one.range[1]) then
      apply(one)
    else
      vim.cmd("normal! m'")
      vim.api.nvim_win_set_cursor(0, { one.range[1] + 1, one.range[2] })
    end
  end)
  return true
end

---Run an action when the server is ready. The first time it is started; one that could not be is not started by each key.
---@param action fun()
local function when_ready(action)
  local one = live.here()
  local is_first = not started[one]
  started[one] = true
  if is_first or live.with(one, function()
    return require("north.state").phase == "ready"
  end) then
    require("north.conversation").with_session(action)
  end
end

---Begin to propose, or leave off.
---@param wanted boolean
function M.attach(wanted)
  local group = vim.api.nvim_create_augroup("north.suggestions", { clear = true })
  started = setmetatable({}, { __mode = "k" })
  M.dismiss()
  if not wanted then
    return
  end
  vim.api.nvim_create_autocmd({ "TextChanged", "TextChangedI" }, {
    group = group,
    desc = "North proposes what comes next",
    callback = function(event)
      M.dismiss()
      if vim.bo[event.buf].buftype == "" and vim.api.nvim_buf_get_name(event.buf) ~= "" then
        when_ready(function()
          if vim.api.nvim_get_current_buf() == event.buf then
            ask(event.buf)
          end
        end)
      end
    end,
  })
  vim.api.nvim_create_autocmd({ "TextChangedP", "BufLeave" }, {
    group = group,
    desc = "North's proposal is about another text",
    callback = M.dismiss,
  })
end

return M
