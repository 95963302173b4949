---North in the menu of code actions: a language server inside Neovim that offers them, and asks in the chat.
local compat = require("north.compat")

local M = {}

local AUTOMATIC = 2
local COMMAND = "north.action"

---@type integer?
local client_id

---@param params lsp.CodeActionParams
---@return lsp.CodeAction[]
local function offered(params)
  local context, range = params.context or {}, params.range
  local is_selected = not vim.deep_equal(range.start, range["end"])
  local found = {}
  ---@param what string
  ---@param title string
  ---@param kind string
  local function add(what, title, kind)
    title = "North: " .. title
    local given = { uri = params.textDocument.uri, range = range, what = what }
    found[#found + 1] = { title = title, kind = kind, command = { title = title, command = COMMAND, arguments = { given } } }
  end
  -- Neovim tells a server its own diagnostics only; what is wrong here may come from any.
  local problems = #vim.tbl_filter(function(one)
    return one.lnum <= range["end"].line and (one.end_lnum or one.lnum) >= range.start.line
  end, vim.diagnostic.get(vim.uri_to_bufnr(params.textDocument.uri)))
  if problems > 0 then
    add("fix", problems == 1 and "fix this problem" or ("fix these %d problems"):format(problems), "quickfix")
  end
  if is_selected or context.triggerKind ~= AUTOMATIC then
    local place = is_selected and "the selection" or "this line"
    add("explain", "explain " .. place, "refactor.north")
    add("tests", "write tests for " .. place, "refactor.north")
    add("document", "document " .. place, "refactor.north")
    add("ask", "ask about " .. place, "refactor.north")
  end
  return vim.tbl_filter(function(action)
    return context.only == nil
      or vim.iter(context.only):any(function(kind)
        return kind == "" or action.kind == kind or vim.startswith(action.kind, kind .. ".")
      end)
  end, found)
end

---@return vim.lsp.rpc.PublicClient
local function server()
  local is_closing, last = false, 0
  return {
    request = function(method, params, callback)
      local result = nil
      if method == "initialize" then
        result = { capabilities = { codeActionProvider = { codeActionKinds = { "quickfix", "refactor.north" } } } }
      elseif method == "textDocument/codeAction" then
        result = offered(params)
      end
      last = last + 1
      callback(nil, result)
      return true, last
    end,
    notify = function(method)
      is_closing = is_closing or method == "exit"
      return true
    end,
    is_closing = function()
      return is_closing
    end,
    terminate = function()
      is_closing = true
    end,
  }
end

---Offer them in a buffer.
---@param buffer integer
function M.attach(buffer)
  if not client_id or not vim.lsp.get_client_by_id(client_id) then
    client_id = compat.start({
      name = "north-actions",
      cmd = server,
      commands = {
        [COMMAND] = function(command)
          require("north.actions").perform(command)
        end,
      },
    })
  end
  if client_id then
    vim.lsp.buf_attach_client(buffer, client_id)
  end
end

return M
