---Several questions at once, as a form in a split of its own: what is under the cursor is chosen or typed. It opens
---without the cursor, and no key answers outside of it.
local below = require("north.below")
local compat = require("north.compat")
local config = require("north.config")
local live = require("north.live")
local messages = require("north.messages")

local M = {}

local SHARE = 0.5

---@class north.Field a property of ACP's `requestedSchema`
---@field key string
---@field kind "one"|"several"|"switch"|"text"|"number"|"integer"
---@field title string
---@field description? string
---@field choices { value: string, title: string }[]
---@field required boolean
---@field minimum? number
---@field maximum? number
---@field maxLength? integer

---@class north.ShownForm
---@field params table
---@field fields north.Field[]
---@field values table<string, any>
---@field rows { text: string, act?: fun() }[]
---@field buffer integer
---@field window integer
---@field count integer
---@field answer fun(result: table)

---@class north.KeptForm
---@field current? north.ShownForm
local own = live.keep("forms", function()
  return {}
end)

local redraw

---@param text any
---@return string
local function plain(text)
  return (vim.fn.strtrans((tostring(text or ""):gsub("%s*\n%s*", " "))))
end

---@param key string
---@param property table
---@param required boolean
---@return north.Field
local function field_of(key, property, required)
  local items = property.type == "array" and property.items or {}
  local options = property.oneOf or items.anyOf or {}
  local choices = vim.tbl_map(function(one)
    return { value = one.const, title = one.title or one.const }
  end, options)
  for _, value in ipairs(property.enum or items.enum or {}) do
    choices[#choices + 1] = { value = value, title = value }
  end
  local kinds = { array = "several", boolean = "switch", number = "number", integer = "integer" }
  return {
    key = key,
    kind = kinds[property.type] or (#choices > 0 and "one" or "text"),
    title = property.title or key,
    description = property.description,
    choices = choices,
    required = required,
    minimum = property.minimum,
    maximum = property.maximum,
    maxLength = property.maxLength,
  }
end

---The fields in the order of their names, which the server counts up.
---@param schema table
---@return north.Field[]
---@return table<string, any> values
local function read(schema)
  local fields, values = {}, {}
  local keys = vim.tbl_keys(schema.properties or {})
  table.sort(keys, function(one, other)
    local first, second = tonumber(one:match("%d+")) or 0, tonumber(other:match("%d+")) or 0
    return first < second or (first == second and one < other)
  end)
  for _, key in ipairs(keys) do
    local property = schema.properties[key]
    local required = vim.list_contains(schema.required or {}, key)
    fields[#fields + 1] = field_of(key, property, required)
    if property.default ~= nil and property.default ~= vim.NIL then
      values[key] = vim.deepcopy(property.default)
    end
  end
  return fields, values
end

---What is typed into a field; nil and a reason for what does not fit.
---@param field north.Field
---@param text string
---@return any value
---@return string? problem
local function typed(field, text)
  if field.kind == "text" then
    if field.maxLength and vim.fn.strchars(text) > field.maxLength then
      return nil, ("at most %d characters"):format(field.maxLength)
    end
    return text
  end
  local number = tonumber(text)
  if not number or (field.kind == "integer" and number ~= math.floor(number)) then
    return nil, field.kind == "integer" and "a whole number" or "a number"
  elseif (field.minimum and number < field.minimum) or (field.maximum and number > field.maximum) then
    return nil, ("from %s to %s"):format(field.minimum or "any", field.maximum or "any")
  end
  return number
end

---@param shown north.ShownForm
---@param field north.Field
local function ask(shown, field)
  local value = shown.values[field.key]
  live.input({ prompt = plain(field.title) .. ": ", default = value and tostring(value) or "" }, function(text)
    if text == nil or own().current ~= shown then
      return
    end
    local new, problem = nil, nil
    if vim.trim(text) ~= "" then
      new, problem = typed(field, text)
    end
    if problem then
      messages.tell(("North: not accepted; enter %s"):format(problem), vim.log.levels.WARN)
      return
    end
    shown.values[field.key] = new
    redraw(shown)
  end)
end

---@param shown north.ShownForm
---@param field north.Field
---@param value string
local function toggle(shown, field, value)
  local now = shown.values[field.key]
  if field.kind == "one" then
    shown.values[field.key] = now ~= value and value or nil
  else
    local chosen = vim.tbl_filter(function(other)
      return other ~= value
    end, now or {})
    if #chosen == #(now or {}) then
      chosen[#chosen + 1] = value
    end
    shown.values[field.key] = chosen
  end
  redraw(shown)
end

---@param shown north.ShownForm
---@return { text: string, act?: fun() }[]
local function rows_of(shown)
  local rows = {}
  for index, field in ipairs(shown.fields) do
    local value = shown.values[field.key]
    local mark = field.required and " (needed)" or ""
    if #field.choices > 0 then
      if index > 1 then
        rows[#rows + 1] = { text = "" }
      end
      local many = field.kind == "several" and " (any number)" or ""
      rows[#rows + 1] = { text = plain(field.title) .. many .. mark }
      for _, choice in ipairs(field.choices) do
        local is_chosen = field.kind == "one" and value == choice.value
          or (field.kind == "several" and vim.list_contains(value or {}, choice.value))
        local box = field.kind == "one" and (is_chosen and "(•)" or "( )") or (is_chosen and "[x]" or "[ ]")
        rows[#rows + 1] = {
          text = ("  %s %s"):format(box, plain(choice.title)),
          act = function()
            toggle(shown, field, choice.value)
          end,
        }
      end
    elseif field.kind == "switch" then
      rows[#rows + 1] = {
        text = ("  %s %s"):format(value and "[x]" or "[ ]", plain(field.title)),
        act = function()
          shown.values[field.key] = not value
          redraw(shown)
        end,
      }
    else
      local words = value ~= nil and plain(value) or "…"
      rows[#rows + 1] = {
        text = ("  ✎ %s%s: %s"):format(plain(field.title), mark, words),
        act = function()
          ask(shown, field)
        end,
      }
    end
    if field.description and field.description ~= "" then
      rows[#rows + 1] = { text = "    " .. plain(field.description) }
    end
  end
  return rows
end

---@param shown north.ShownForm
redraw = function(shown)
  shown.rows = rows_of(shown)
  local lines = vim.tbl_map(function(row)
    return row.text
  end, shown.rows)
  vim.bo[shown.buffer].modifiable = true
  vim.api.nvim_buf_set_lines(shown.buffer, 0, -1, true, lines)
  vim.bo[shown.buffer].modifiable = false
  local keys = config.current.keys
  local more = shown.count > 1 and (" (1 of %d questions)"):format(shown.count) or ""
  local parts = {
    live.name() .. " asks" .. more,
    "%#NorthKey#Enter%* choose or type",
    ("%%#NorthKey#%s%%* answer"):format((keys.accept:gsub("%%", "%%%%"))),
    ("%%#NorthKey#%s%%* close without an answer"):format((keys.reject:gsub("%%", "%%%%"))),
  }
  vim.wo[shown.window][0].winbar = " " .. table.concat(parts, " │ ") .. "%<"
end

---@param shown north.ShownForm
local function send(shown)
  local content = vim.empty_dict()
  for _, field in ipairs(shown.fields) do
    local value = shown.values[field.key]
    local is_empty = value == nil or (type(value) == "table" and #value == 0)
    if is_empty and field.required then
      messages.tell(("North: %s needs an answer"):format(plain(field.title)), vim.log.levels.WARN)
      return
    elseif not is_empty then
      content[field.key] = value
    end
  end
  shown.answer({ action = "accept", content = content })
end

---@param shown north.ShownForm
local function map(shown)
  ---@param keys string[]
  ---@param act fun()
  ---@param text string
  local function set(keys, act, text)
    for _, key in ipairs(keys) do
      vim.keymap.set("n", key, act, { buffer = shown.buffer, nowait = true, desc = "North: " .. text })
    end
  end
  set({ "<CR>", "<Space>" }, function()
    local row = shown.rows[vim.fn.line(".")]
    if row and row.act then
      row.act()
    end
  end, "choose or type what is under the cursor")
  set({ config.current.keys.accept }, function()
    send(shown)
  end, "answer")
  set({ config.current.keys.reject }, function()
    shown.answer({ action = "decline" })
  end, "close without an answer")
end

---@return boolean
local function is_open()
  return own().current ~= nil and vim.api.nvim_win_is_valid(own().current.window)
end

---Show a form, in the present tab page; `focus` goes there. What was chosen stays while it is closed.
---@param params table of `elicitation/create`
---@param count integer how many questions wait
---@param focus boolean
---@param answer fun(result: table)
function M.open(params, count, focus, answer)
  compat.validate("params", params, "table")
  compat.validate("answer", answer, "function")
  local known = own().current and own().current.params == params and own().current or nil
  if known and is_open() and vim.api.nvim_win_get_tabpage(known.window) == vim.api.nvim_get_current_tabpage() then
    if focus then
      vim.api.nvim_set_current_win(known.window)
    end
    return
  end
  local values = known and known.values
  M.close()
  local fields, defaults = read(params.requestedSchema or {})
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = "wipe"
  local window = below.open(buffer, 5)
  vim.w[window].north_asks = true
  for name, value in pairs({ number = false, relativenumber = false, signcolumn = "no", foldenable = false,
    wrap = true, linebreak = true, list = false, spell = false, winfixheight = true, cursorline = true }) do -- stylua: ignore
    vim.api.nvim_set_option_value(name, value, { win = window, scope = "local" })
  end
  own().current = {
    params = params,
    fields = fields,
    values = values or defaults,
    rows = {},
    buffer = buffer,
    window = window,
    count = count,
    answer = answer,
  }
  map(own().current)
  redraw(own().current)
  local most = math.max(4, math.floor(vim.o.lines * SHARE))
  vim.api.nvim_win_set_height(window, math.min(vim.api.nvim_win_text_height(window, {}).all + 1, most))
  if focus then
    vim.api.nvim_set_current_win(window)
  end
end

---Close it; this decides nothing, and what was chosen is kept unless the form is done.
---@param is_done? boolean
function M.close(is_done)
  local shown = own().current
  if not shown then
    return
  end
  below.close(shown.window)
  if is_done then
    own().current = nil
  end
end

return M
