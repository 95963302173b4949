---Neovim's language servers and diagnostics, for North: `_north/languageFeature`. They only look: what a rename or a
---formatter would change is told, and goes through North's review like every edit.
local compat = require("north.compat")
local hidden = require("north.hidden")

local M = {}

local MAX_ROWS = 500
local REQUEST_MS = 2500
local FORMAT_MS = 8000
---How long the first problems may take after a change, how long it is quiet when all are there, and how long in all.
local OPEN = { first = 1000, quiet = 300, all = 4000 }
---A language server may have to start for a file that was not open. North waits for 8 s.
local OPENED = { first = 4000, quiet = 1000, all = 7000 }
local MAX_OPENED = 10
---After so many changes of a type of file without a word about it nobody is waited for.
local MAX_SILENT = 2
---@type table<string, integer>
local silent = {}

local SEVERITIES = { "error", "warning", "info", "hint" }
local PLACES = {
  definition = "textDocument/definition",
  typeDefinition = "textDocument/typeDefinition",
  implementation = "textDocument/implementation",
  references = "textDocument/references",
}

---Let the event loop go on until `start` has called what it was given; to be called in a coroutine.
---@param start fun(done: fun(...))
---@return any ...
local function wait(start)
  local me = coroutine.running()
  local answer, waits
  start(function(...)
    answer = answer or vim.F.pack_len(...)
    if waits then
      waits = false
      coroutine.resume(me)
    end
  end)
  if not answer then
    waits = true
    coroutine.yield()
  end
  return vim.F.unpack_len(answer)
end

---Whether a client is one of Neovim's language servers, and not North's own.
---@param client vim.lsp.Client
---@return boolean
local function is_asked(client)
  return client.name ~= "north" and client.name ~= "north-actions"
end

-- Positions ---------------------------------------------------------------------------------------

---A line of a file, of its buffer if there is one.
---@param uri string
---@param line integer from 0
---@return string
local function line_of(uri, line)
  local buffer = vim.uri_to_bufnr(uri)
  if vim.api.nvim_buf_is_loaded(buffer) then
    return vim.api.nvim_buf_get_lines(buffer, line, line + 1, false)[1] or ""
  end
  local lines = vim.fn.filereadable(vim.uri_to_fname(uri)) == 1 and vim.fn.readfile(vim.uri_to_fname(uri), "", line + 1) or {}
  return lines[line + 1] or ""
end

---@param uri string
---@param position lsp.Position
---@param from string an encoding of columns
---@param to string
---@return lsp.Position
local function recount(uri, position, from, to)
  local at = { line = position.line, character = position.character }
  if from ~= to and at.character > 0 then
    local text = line_of(uri, at.line)
    at.character = compat.units(text, to, compat.byte(text, from, at.character))
  end
  return at
end

---@param uri string
---@param range lsp.Range
---@param encoding string
---@return lsp.Range
local function range_of(uri, range, encoding)
  return { start = recount(uri, range.start, encoding, "utf-16"), ["end"] = recount(uri, range["end"], encoding, "utf-16") }
end

-- Requests ----------------------------------------------------------------------------------------

---Ask every language server that knows a method, North's own left out.
---@param method string
---@param buffer integer? nil for those of the whole workspace
---@param params fun(client: vim.lsp.Client): table
---@param milliseconds? integer
---@return { client: vim.lsp.Client, result: any }[] answers of those that answered in time
local function ask(method, buffer, params, milliseconds)
  local clients = vim.tbl_filter(function(client)
    return is_asked(client)
  end, vim.lsp.get_clients({ bufnr = buffer, method = method }))
  if #clients == 0 then
    error(("no language server of Neovim's answers %s here"):format(method), 0)
  end
  local answers, failures = {}, {}
  wait(function(done)
    local left = #clients
    local timer = assert(vim.uv.new_timer())
    local function one_less()
      left = left - 1
      if left == 0 and not timer:is_closing() then
        timer:close()
        done()
      end
    end
    timer:start(milliseconds or REQUEST_MS, 0, vim.schedule_wrap(function()
      if not timer:is_closing() then
        timer:close()
        done()
      end
    end))
    for _, client in ipairs(clients) do
      local sent = compat.call(client, "request", method, params(client), function(failure, result)
        if failure then
          failures[#failures + 1] = failure.message
        elseif result ~= nil and result ~= vim.NIL then
          answers[#answers + 1] = { client = client, result = result }
        end
        one_less()
      end, buffer)
      if not sent then
        one_less()
      end
    end
  end)
  if #answers == 0 and #failures > 0 then
    error(failures[1], 0)
  end
  return answers
end

---@param uri string
---@return integer buffer in which language servers have been given time to attach
local function buffer_of(uri)
  if not vim.startswith(uri or "", "file:") then
    error("only files have language features", 0)
  end
  local buffer = hidden.load(vim.uri_to_fname(uri))
  if not buffer then
    error(("there is no %s"):format(uri), 0)
  end
  local function attached()
    return vim.iter(vim.lsp.get_clients({ bufnr = buffer })):any(function(client)
      return is_asked(client) and client.initialized
    end)
  end
  if hidden.is(buffer) and not attached() then
    wait(function(done)
      local timer, id = assert(vim.uv.new_timer()), nil
      local function finish()
        if not timer:is_closing() then
          timer:close()
          vim.api.nvim_del_autocmd(id)
          done()
        end
      end
      id = vim.api.nvim_create_autocmd("LspAttach", { buffer = buffer, callback = vim.schedule_wrap(finish) })
      timer:start(REQUEST_MS, 0, vim.schedule_wrap(finish))
    end)
  end
  return buffer
end

---@param params table
---@param more? table
---@return fun(client: vim.lsp.Client): table
local function at_position(params, more)
  return function(client)
    return vim.tbl_extend("force", {
      textDocument = { uri = params.uri },
      position = recount(params.uri, params.position, "utf-16", client.offset_encoding),
    }, more or {})
  end
end

---@param edits lsp.TextEdit[]
local function edits_of(uri, edits, encoding)
  return vim.tbl_map(function(edit)
    return { range = range_of(uri, edit.range, encoding), newText = edit.newText }
  end, edits)
end

-- Problems ----------------------------------------------------------------------------------------

---@param buffer? integer
---@return table[]
local function rows(buffer)
  local found = {}
  for _, problem in ipairs(vim.diagnostic.get(buffer)) do
    local name = vim.api.nvim_buf_get_name(problem.bufnr)
    if (vim.startswith(name, "/") or name:find("^%a:[/\\]")) and #found < MAX_ROWS then
      local uri = vim.uri_from_fname(name)
      local function position(line, column)
        return recount(uri, { line = line, character = column }, "utf-8", "utf-16")
      end
      found[#found + 1] = {
        uri = uri,
        range = {
          start = position(problem.lnum, problem.col),
          ["end"] = position(problem.end_lnum or problem.lnum, problem.end_col or problem.col),
        },
        severity = SEVERITIES[problem.severity],
        message = problem.message,
        source = problem.source,
        code = problem.code and tostring(problem.code) or nil,
      }
    end
  end
  return found
end

---Wait until nothing new has been said about some buffers for a while.
---@param buffers table<integer, true>
---@param patience { first: integer, quiet: integer, all: integer }
---@param begin fun() makes the language servers look
---@return table<integer, true> said of which buffers anything was said
local function settle(buffers, patience, begin)
  local said = {}
  wait(function(done)
    local quiet, all, id = assert(vim.uv.new_timer()), assert(vim.uv.new_timer()), nil
    local finish = vim.schedule_wrap(function()
      if not all:is_closing() then
        all:close()
        quiet:close()
        vim.api.nvim_del_autocmd(id)
        done()
      end
    end)
    id = vim.api.nvim_create_autocmd("DiagnosticChanged", {
      callback = function(event)
        if buffers[event.buf] and not quiet:is_closing() then
          said[event.buf] = true
          quiet:start(patience.quiet, 0, finish)
        end
      end,
    })
    quiet:start(patience.first, 0, finish)
    all:start(patience.all, 0, finish)
    begin()
  end)
  return said
end

---@param params { uri?: string, uris?: string[], wait?: boolean }
local function diagnostics(params)
  local uris = params.uris or (params.uri and { params.uri })
  if not uris then
    return { diagnostics = rows() }
  end
  local wanted, closed = {}, {}
  for _, uri in ipairs(uris) do
    local buffer = vim.fn.bufadd(vim.uri_to_fname(uri))
    local filetype = vim.bo[buffer].filetype
    if filetype == "" then
      filetype = vim.filetype.match({ filename = vim.uri_to_fname(uri) }) or ""
    end
    if params.wait and (silent[filetype] or 0) < MAX_SILENT then
      local is_open = vim.api.nvim_buf_is_loaded(buffer) and not hidden.is(buffer)
      if is_open or #closed < MAX_OPENED then
        wanted[buffer] = filetype
        closed[#closed + 1] = not is_open and vim.uri_to_fname(uri) or nil
      end
    end
  end
  local said = {}
  if next(wanted) then
    local buffers = vim.iter(pairs(wanted)):fold({}, function(all, buffer)
      all[buffer] = true
      return all
    end)
    said = settle(buffers, #closed > 0 and OPENED or OPEN, function()
      for _, path in ipairs(closed) do
        hidden.load(path)
      end
    end)
    for _, filetype in pairs(wanted) do
      silent[filetype] = next(said) and 0 or (silent[filetype] or 0) + 1
    end
  end
  local found, known = {}, {}
  for _, uri in ipairs(uris) do
    local buffer = vim.fn.bufadd(vim.uri_to_fname(uri))
    local here = vim.api.nvim_buf_is_loaded(buffer) and rows(buffer) or {}
    vim.list_extend(found, here)
    local asked = vim.iter(vim.lsp.get_clients({ bufnr = buffer })):any(function(client)
      return is_asked(client)
    end)
    if #here > 0 or said[buffer] or (asked and not hidden.is(buffer)) then
      known[#known + 1] = uri
    end
  end
  return { diagnostics = vim.list_slice(found, 1, MAX_ROWS), known = known }
end

-- The others --------------------------------------------------------------------------------------

local function places(params)
  local more = params.action == "references" and { context = { includeDeclaration = true } } or nil
  local found, seen = {}, {}
  for _, answer in ipairs(ask(PLACES[params.action], buffer_of(params.uri), at_position(params, more))) do
    for _, place in ipairs(vim.islist(answer.result) and answer.result or { answer.result }) do
      local uri = place.targetUri or place.uri
      local range = range_of(uri, place.targetSelectionRange or place.range, answer.client.offset_encoding)
      local key = ("%s:%d:%d"):format(uri, range.start.line, range.start.character)
      if not seen[key] and #found < MAX_ROWS then
        seen[key] = true
        found[#found + 1] = { uri = uri, range = range }
      end
    end
  end
  return { locations = found }
end

local function hover(params)
  local texts = {}
  for _, answer in ipairs(ask("textDocument/hover", buffer_of(params.uri), at_position(params))) do
    vim.list_extend(texts, vim.lsp.util.convert_input_to_markdown_lines(answer.result.contents))
  end
  return { text = table.concat(texts, "\n") }
end

local function signature(params)
  local labels = {}
  for _, answer in ipairs(ask("textDocument/signatureHelp", buffer_of(params.uri), at_position(params))) do
    for _, one in ipairs(answer.result.signatures or {}) do
      labels[#labels + 1] = one.label
    end
  end
  return { text = table.concat(labels, "\n") }
end

---As a list, whether a language server has them as a tree or not; one inside another names it.
local function symbols_of(answers, uri)
  local found = {}
  local function add(symbols, container, encoding)
    for _, symbol in ipairs(symbols) do
      if #found < MAX_ROWS then
        local file = symbol.location and symbol.location.uri or uri
        local range = symbol.location and symbol.location.range or symbol.range
        found[#found + 1] = {
          name = symbol.name,
          kind = (vim.lsp.protocol.SymbolKind[symbol.kind] or "symbol"):lower(),
          container = symbol.containerName or container,
          uri = file,
          range = range and range_of(file, range, encoding) or nil,
        }
        add(symbol.children or {}, container and (container .. "." .. symbol.name) or symbol.name, encoding)
      end
    end
  end
  for _, answer in ipairs(answers) do
    add(answer.result, nil, answer.client.offset_encoding)
  end
  return { symbols = found }
end

local function rename(params)
  local answers = ask("textDocument/rename", buffer_of(params.uri), at_position(params, { newName = params.newName }))
  local first = answers[1] or { result = {} }
  local files = {}
  for uri, edits in pairs(first.result.changes or {}) do
    files[#files + 1] = { uri = uri, edits = edits_of(uri, edits, first.client.offset_encoding) }
  end
  for _, change in ipairs(first.result.documentChanges or {}) do
    if change.kind then
      error("the language server would move files as well: rename them one by one", 0)
    end
    local uri = change.textDocument.uri
    files[#files + 1] = { uri = uri, edits = edits_of(uri, change.edits, first.client.offset_encoding) }
  end
  return { files = files }
end

local function format(params)
  local buffer = buffer_of(params.uri)
  local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
  local text = table.concat(lines, "\n") .. (vim.bo[buffer].endofline and "\n" or "")
  local before = vim.api.nvim_buf_get_changedtick(buffer)
  local width = vim.bo[buffer].shiftwidth
  local options = { tabSize = width > 0 and width or vim.bo[buffer].tabstop, insertSpaces = vim.bo[buffer].expandtab }
  local known, answers = pcall(ask, "textDocument/formatting", buffer, function()
    return { textDocument = { uri = params.uri }, options = options }
  end, FORMAT_MS)
  if vim.api.nvim_buf_get_changedtick(buffer) ~= before then
    error("the text has changed while it was formatted", 0)
  end
  local first = known and answers[1] or nil
  local edits = first and edits_of(params.uri, first.result, first.client.offset_encoding) or {}
  return { edits = edits, sha256 = vim.fn.sha256(text) }
end

---@type table<string, fun(params: table): table>
local actions = {
  diagnostics = diagnostics,
  definition = places,
  typeDefinition = places,
  implementation = places,
  references = places,
  hover = hover,
  signature = signature,
  symbols = function(params)
    local buffer = buffer_of(params.uri)
    return symbols_of(ask("textDocument/documentSymbol", buffer, function()
      return { textDocument = { uri = params.uri } }
    end), params.uri)
  end,
  workspaceSymbols = function(params)
    return symbols_of(ask("workspace/symbol", nil, function()
      return { query = params.query or "" }
    end), "")
  end,
  rename = rename,
  format = format,
}

---Answer `_north/languageFeature`; to be called in a coroutine, as Neovim calls the handlers of requests.
---@param params table
---@return table? result
---@return lsp.ResponseError? error
function M.answer(params)
  local act = actions[params.action]
  if not act then
    return nil, vim.lsp.rpc.rpc_response_error(vim.lsp.protocol.ErrorCodes.InvalidParams, "there is no such language feature")
  end
  local ok, result = pcall(act, params)
  if ok then
    return result
  end
  return nil, vim.lsp.rpc.rpc_response_error(vim.lsp.protocol.ErrorCodes.InternalError, tostring(result))
end

return M
