---What is often asked about code: by `:North explain` and the like, and from the menu of code actions.
local attachments = require("north.attachments")
local compat = require("north.compat")
local conversation = require("north.conversation")
local live = require("north.live")
local messages = require("north.messages")

local M = {}

---These texts are the model's, and shown in the conversation as they are sent.
---@type table<string, { title: string, text: string }>
M.known = {
  explain = {
    title = "explain",
    text = "Explain this code: what it does, how it fits in, and what is easy to get wrong about it.",
  },
  fix = { title = "fix", text = "Find what is wrong with this code, and fix it." },
  tests = {
    title = "write tests",
    text = "Write tests for this code, where and how this project has its tests. Cover what can go wrong, too, and run "
      .. "them if you can.",
  },
  document = {
    title = "document",
    text = "Write the documentation comments that this code lacks, in the style of this project. Change nothing else.",
  },
}

local EDIT = "Change these lines as follows, and nothing else of the file; answer in one line.\n\n%s"

---What is wrong in these lines, as Neovim shows it.
---@param first integer from 1
---@param last integer
---@return string
local function problems(first, last)
  local rows = {}
  for _, one in ipairs(vim.diagnostic.get(0)) do
    if one.lnum + 1 <= last and (one.end_lnum or one.lnum) + 1 >= first then
      rows[#rows + 1] = ("- line %d: %s"):format(one.lnum + 1, one.message)
    end
  end
  return #rows > 0 and "\n\nNeovim shows these problems:\n" .. table.concat(rows, "\n") or ""
end

---Whether the present buffer is about a file's text.
---@return boolean
local function is_code()
  if vim.bo.buftype == "" then
    return true
  end
  messages.tell("North: go to the code that it is about first", vim.log.levels.WARN)
  return false
end

---Ask about lines of the present buffer.
---@param name string one of `M.known`
---@param words string what the user adds
---@param selection? north.Selection without one: the whole buffer, and for `fix` the line of the cursor
function M.run(name, words, selection)
  compat.validate("name", name, "string")
  if not is_code() then
    return
  end
  local first, last = 1, vim.api.nvim_buf_line_count(0)
  if selection then
    first, last = selection.first, selection.last
  elseif name == "fix" and problems(vim.fn.line("."), vim.fn.line(".")) ~= "" then
    first, last = vim.fn.line("."), vim.fn.line(".")
  end
  if not selection then
    selection = M.lines(first, last)
  end
  local text = M.known[name].text
  if words ~= "" then
    text = ("%s\n\n%s"):format(text, words)
  end
  conversation.ask(text .. (name == "fix" and problems(first, last) or ""), selection)
end

---Have lines changed; the proposal is shown where they are.
---@param words string
---@param selection? north.Selection without one: the line of the cursor
function M.edit(words, selection)
  if words == "" then
    messages.tell("North: usage: :'<,'>North edit <what to change>", vim.log.levels.ERROR)
  elseif is_code() then
    require("north.permission").show_inline()
    conversation.ask(EDIT:format(words), selection or M.lines(vim.fn.line("."), vim.fn.line(".")))
  end
end

---The lines of an LSP range; what ends before a line's first character leaves that line out.
---@param range any
---@return integer first from 1
---@return integer last
local function lines_of(range)
  local from, to = vim.tbl_get(range or {}, "start"), vim.tbl_get(range or {}, "end")
  if type(from) ~= "table" or type(to) ~= "table" then
    return vim.fn.line("."), vim.fn.line(".")
  end
  local last = to.character == 0 and to.line > from.line and to.line or to.line + 1
  return from.line + 1, math.min(last, vim.api.nvim_buf_line_count(0))
end

---What one of North's code actions does here: it asks in the chat.
---@param command lsp.Command
function M.perform(command)
  local given = (command.arguments or {})[1]
  if type(given) ~= "table" or type(given.uri) ~= "string" or vim.uri_from_bufnr(0) ~= given.uri then
    messages.tell("North: this code action is about another file", vim.log.levels.WARN)
    return
  end
  local lines = M.lines(lines_of(given.range))
  if M.known[given.what] then
    M.run(given.what, "", lines)
    return
  end
  live.input({ prompt = ("North, about %s: "):format(lines.label) }, function(text)
    if text and vim.trim(text) ~= "" then
      conversation.ask(text, lines)
    end
  end)
end

---Lines of the present buffer, as they go along with a prompt.
---@param first integer from 1
---@param last integer
---@return north.Selection
function M.lines(first, last)
  local lines = vim.api.nvim_buf_get_lines(0, first - 1, last, false)
  local one = attachments.selection(first, last, lines)
  local resource = one.block.resource
  return { uri = resource.uri, text = resource.text, label = one.label, first = first, last = last }
end

return M
