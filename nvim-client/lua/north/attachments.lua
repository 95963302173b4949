---What goes along with the next prompt besides its words: files, folders, a selection, problems, the quickfix list.
local compat = require("north.compat")
local live = require("north.live")
local messages = require("north.messages")

local M = {}

local MOST_ROWS, MOST_BYTES = 200, 100000
local CLIPBOARD_MS = 5000
---What gives a picture of the clipboard, by what the system has.
local CLIPBOARDS = {
  { "wl-paste", "--no-newline", "--type", "image/png" },
  { "xclip", "-selection", "clipboard", "-target", "image/png", "-out" },
  { "pngpaste", "-" },
}
local SEVERITIES = { "error", "warning", "info", "hint" }

---@class north.Attachment
---@field label string what the user is shown
---@field block table ACP's content block

---@class north.KeptAttachments
---@field attached north.Attachment[]
local own = live.keep("attachments", function()
  return { attached = {} }
end)
---@type fun()
local on_change = function() end

---@param listener fun()
function M.on_change(listener)
  on_change = listener
end

---@return string[]
function M.labels()
  return vim.tbl_map(function(one)
    return one.label
  end, own().attached)
end

---@param path string
---@return string
local function short(path)
  return vim.fn.fnamemodify(path, ":~:.")
end

---@param one north.Attachment
local function add(one)
  own().attached = vim.tbl_filter(function(other)
    return other.label ~= one.label
  end, own().attached)
  own().attached[#own().attached + 1] = one
  on_change()
end

---Take what is attached; nothing is attached afterwards.
---@return north.Attachment[]
function M.take()
  local taken = own().attached
  own().attached = {}
  if #taken > 0 then
    on_change()
  end
  return taken
end

---Put back what was taken, where it could not be sent.
---@param taken north.Attachment[]
function M.put_back(taken)
  if #taken == 0 then
    return
  end
  own().attached = vim.list_extend(vim.deepcopy(taken), own().attached)
  on_change()
end

---@param uri string
---@param text string
---@param label string
---@return north.Attachment
local function text_block(uri, text, label)
  if #text > MOST_BYTES then
    text = text:sub(1, MOST_BYTES) .. "\n[the rest was left out]\n"
  end
  return { label = label, block = { type = "resource", resource = { uri = uri, text = text } } }
end

---A file or a folder, which North reads by itself.
---@param path string
---@return north.Attachment?
local function file(path)
  local whole = vim.fs.normalize(vim.fn.fnamemodify(path, ":p"))
  local stat = vim.uv.fs_stat(whole)
  if not stat and vim.fn.bufloaded(whole) == 0 then
    return nil
  end
  local uri = vim.uri_from_fname(whole:gsub("/$", "")) .. (stat and stat.type == "directory" and "/" or "")
  return { label = short(whole), block = { type = "resource_link", uri = uri, name = short(whole) } }
end

---@param buffer integer
---@return boolean
local function is_file(buffer)
  return vim.bo[buffer].buftype == "" and vim.bo[buffer].buflisted and vim.api.nvim_buf_get_name(buffer) ~= ""
end

---The buffer that the user means: the one of this window, or of the last one that showed a file.
---@return integer?
local function file_buffer()
  for _, window in ipairs({ vim.api.nvim_get_current_win(), vim.fn.win_getid(vim.fn.winnr("#")) }) do
    if window ~= 0 and is_file(vim.api.nvim_win_get_buf(window)) then
      return vim.api.nvim_win_get_buf(window)
    end
  end
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if is_file(vim.api.nvim_win_get_buf(window)) then
      return vim.api.nvim_win_get_buf(window)
    end
  end
end

---@param buffer integer? all buffers without one
---@return north.Attachment?
local function problems(buffer)
  local rows = {}
  local found = vim.diagnostic.get(buffer)
  table.sort(found, function(one, other)
    return one.severity < other.severity or (one.severity == other.severity and one.lnum < other.lnum)
  end)
  for _, one in ipairs(vim.list_slice(found, 1, MOST_ROWS)) do
    local name = short(vim.api.nvim_buf_get_name(one.bufnr))
    local source = one.source and (" (%s)"):format(one.source) or ""
    rows[#rows + 1] = ("%s:%d: %s: %s%s"):format(name, one.lnum + 1, SEVERITIES[one.severity], one.message, source)
  end
  if #rows == 0 then
    return nil
  end
  local where = buffer and short(vim.api.nvim_buf_get_name(buffer)) or "all files"
  local label = ("problems of %s (%d)"):format(where, #found)
  return text_block("problems:" .. where, table.concat(rows, "\n") .. "\n", label)
end

---@return north.Attachment?
local function quickfix()
  local list = vim.fn.getqflist({ items = 0, title = 0 })
  local rows = {}
  for _, item in ipairs(vim.list_slice(list.items, 1, MOST_ROWS)) do
    local name = item.bufnr > 0 and short(vim.api.nvim_buf_get_name(item.bufnr)) .. ":" .. item.lnum .. ": " or ""
    rows[#rows + 1] = name .. item.text
  end
  if #rows == 0 then
    return nil
  end
  local title = list.title ~= "" and list.title or "quickfix list"
  return text_block("quickfix:list", ("%s\n%s\n"):format(title, table.concat(rows, "\n")), ("quickfix (%d)"):format(#list.items))
end

---The picture that is in the clipboard, which a terminal does not paste.
---@return north.Attachment?
---@return string problem
local function picture()
  local found = vim.tbl_filter(function(command)
    return vim.fn.executable(command[1]) == 1
  end, CLIPBOARDS)
  if #found == 0 then
    return nil, "a picture of the clipboard needs wl-paste, xclip or pngpaste"
  end
  for _, command in ipairs(found) do
    local ended = vim.system(command, { timeout = CLIPBOARD_MS }):wait()
    if ended.code == 0 and vim.startswith(ended.stdout or "", "\137PNG") then
      local label = ("picture of the clipboard (%.0f KB)"):format(math.ceil(#ended.stdout / 1024))
      local block = { type = "image", mimeType = "image/png", data = vim.base64.encode(ended.stdout) }
      return { label = label, block = block }, ""
    end
  end
  return nil, "there is no picture in the clipboard"
end

---A part of the present file, as it is in Neovim.
---@param first integer
---@param last integer
---@param lines string[]
---@return north.Attachment
function M.selection(first, last, lines)
  local name = vim.api.nvim_buf_get_name(0)
  local place = first == last and tostring(first) or ("%d-%d"):format(first, last)
  local shown = name ~= "" and vim.fn.fnamemodify(name, ":t") or "unnamed"
  local uri = name ~= "" and ("%s#L%d-L%d"):format(vim.uri_from_bufnr(0), first, last) or "untitled:unnamed"
  return text_block(uri, table.concat(lines, "\n") .. "\n", ("%s:%s"):format(shown, place))
end

---@param one north.Attachment
function M.add(one)
  add(one)
end

---What `:North attach` knows, by its words.
---@type table<string, fun(): north.Attachment?, string>
local sources = {
  buffer = function()
    local buffer = file_buffer()
    return buffer and file(vim.api.nvim_buf_get_name(buffer)), "there is no file in a window"
  end,
  diagnostics = function()
    return problems(file_buffer()), "Neovim shows no problems there"
  end,
  ["all-diagnostics"] = function()
    return problems(nil), "Neovim shows no problems"
  end,
  quickfix = function()
    return quickfix(), "the quickfix list is empty"
  end,
  picture = picture,
}

M.sources = { "all-diagnostics", "buffer", "buffers", "diagnostics", "picture", "quickfix" }

local TITLES = {
  { "The file of this window", "buffer" },
  { "All open files", "buffers" },
  { "The problems of this file", "diagnostics" },
  { "The problems of all files", "all-diagnostics" },
  { "The quickfix list", "quickfix" },
  { "The picture in the clipboard", "picture" },
}

---@param word string one of `M.sources`, or a path
local function attach(word)
  if word == "buffers" then
    local count = 0
    for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
      local one = is_file(buffer) and file(vim.api.nvim_buf_get_name(buffer)) or nil
      if one then
        add(one)
        count = count + 1
      end
    end
    if count == 0 then
      messages.tell("North: no file is open", vim.log.levels.WARN)
    end
    return
  end
  local one, problem
  if sources[word] then
    one, problem = sources[word]()
  else
    one, problem = file(vim.fs.normalize(word)), ("there is no file %s"):format(word)
  end
  if one then
    add(one)
    messages.tell(("North: %s goes along with the next prompt"):format(one.label), vim.log.levels.INFO)
  else
    messages.tell("North: " .. problem, vim.log.levels.WARN)
  end
end

---Attach what a word names; without one the user chooses.
---@param word string
function M.attach(word)
  compat.validate("word", word, "string")
  if word ~= "" then
    attach(word)
    return
  end
  local options = {
    prompt = "What goes along with the next prompt",
    format_item = function(row)
      return row[1]
    end,
  }
  live.select(TITLES, options, function(row)
    if row then
      attach(row[2])
    end
  end)
end

---Take one back, or all of them.
function M.detach()
  if #own().attached == 0 then
    messages.tell("North: nothing is attached", vim.log.levels.INFO)
    return
  end
  local names = #own().attached > 1 and vim.list_extend({ "All of them" }, M.labels()) or M.labels()
  live.select(names, { prompt = "Remove from the next prompt", format_item = tostring }, function(name)
    if name == nil then
      return
    end
    own().attached = vim.tbl_filter(function(one)
      return name ~= "All of them" and one.label ~= name
    end, own().attached)
    on_change()
  end)
end

return M
