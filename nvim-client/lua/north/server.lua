---Finding and starting `north-lsp lsp`, and keeping the project's buffers attached to it.
local compat = require("north.compat")
local config = require("north.config")
local hidden = require("north.hidden")

local M = {}

---@class north.Server
---@field cmd string[] the whole command
---@field source string where it was found, for people

---The project's folder: that of the current file's repository, else the current directory.
---@return string
function M.root()
  local name = vim.api.nvim_buf_get_name(0)
  local is_file = vim.bo.buftype == "" and name ~= ""
  local found = vim.fs.root(is_file and 0 or vim.fn.getcwd(), ".git")
  return vim.fs.normalize(found or vim.fn.getcwd())
end

---A program of the folders on PATH that are named whole: a relative one would be the opened project's.
---@param name string
---@return string? path
local function on_path(name)
  for folder in vim.gsplit(vim.env.PATH or "", vim.fn.has("win32") == 1 and ";" or ":", { plain = true }) do
    local is_whole = vim.startswith(folder, "/") or folder:find("^%a:[/\\]") ~= nil
    local found = is_whole and vim.fn.exepath(vim.fs.joinpath(folder, name)) or ""
    if found ~= "" then
      return found
    end
  end
end

---The server: what was set up, else the one on PATH; never one that lies in the opened project, unless it was set up.
---@param root string
---@return north.Server?
---@return string? problem what to do about it
function M.find(root)
  compat.validate("root", root, "string")
  local cmd = config.current.cmd
  if cmd then
    local program = cmd[1]:find("[/\\]") and cmd[1] or on_path(cmd[1])
    if program and vim.fn.executable(program) == 1 then
      return { cmd = vim.list_extend({ program }, vim.list_slice(cmd, 2)), source = "setup()" }
    end
    return nil, ("setup({ cmd = … }) names %s, which cannot be run; correct it or leave it out"):format(cmd[1])
  end
  local path = on_path("north-lsp")
  if path then
    return { cmd = { path, "lsp" }, source = "PATH" }
  end
  local scripts = vim.fn.has("win32") == 1 and { "Scripts", "north-lsp.exe" } or { "bin", "north-lsp" }
  local own = vim.fs.joinpath(root, ".venv", unpack(scripts))
  if vim.fn.executable(own) == 1 then
    local words = "north-lsp is not on PATH. There is one in the project's .venv, which is not started unless you say "
      .. "so, since it comes from the author of the project: require('north').setup({ cmd = { '%s', 'lsp' } })"
    return nil, words:format(own)
  end
  return nil,
    "north-lsp was not found on PATH. Install it (`pipx install /path/to/north`, its checkout), or name it: "
      .. "require('north').setup({ cmd = { '/path/to/north-lsp', 'lsp' } })"
end

---The command that prints the server's version.
---@param cmd string[]
---@return string[]
function M.version_cmd(cmd)
  local words = {}
  for _, word in ipairs(cmd) do
    if word == "lsp" then
      break
    end
    words[#words + 1] = word
  end
  words[#words + 1] = "--version"
  return words
end

---What opts in to the chat on the language server's connection.
---@return table
function M.init_options()
  local capabilities = {
    session = { notices = vim.empty_dict(), compaction = vim.empty_dict() },
    elicitation = { form = vim.empty_dict() },
    terminal = true,
    _meta = {
      north = {
        hunks = true,
        saveFiles = true,
        events = true,
        resumesTurns = true,
        comesBack = true,
        languageFeatures = true,
        nextEdits = true,
      },
    },
  }
  local options = { acp = true, clientCapabilities = capabilities, settings = config.settings() }
  options.editorFeatures = false -- the plugin has its own, and K, completion and the like are the language servers'
  return { north = options }
end

---@param buffer integer
---@param root string
---@return boolean
local function belongs(buffer, root)
  if not vim.api.nvim_buf_is_loaded(buffer) or vim.bo[buffer].buftype ~= "" or hidden.is(buffer) then
    return false
  end
  local name = vim.api.nvim_buf_get_name(buffer)
  if name == "" or name:find("^%a[%w+.-]*://") then
    return false
  end
  local real_root = vim.uv.fs_realpath(root) or root
  local real = vim.uv.fs_realpath(name) or name
  return compat.relpath(root, name) ~= nil or compat.relpath(real_root, real) ~= nil
end

---@param buffer integer
---@param client_id integer
local function attach(buffer, client_id)
  vim.lsp.buf_attach_client(buffer, client_id)
  if config.current.code_actions then
    require("north.code_actions").attach(buffer)
  end
end

---Open documents are read from their buffers, so every file of the project has to be attached.
---@param client_id integer
---@param root string
local function attach_files(client_id, root)
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if belongs(buffer, root) then
      attach(buffer, client_id)
    end
  end
  local group = vim.api.nvim_create_augroup("north.attach." .. client_id, { clear = true })
  vim.api.nvim_create_autocmd({ "BufWinEnter", "BufModifiedSet" }, {
    group = group,
    desc = "North sees a file that it had only Neovim's language servers look at",
    callback = function(event)
      if vim.lsp.get_client_by_id(client_id) == nil then
        return true
      end
      if hidden.emerges(event.buf) and belongs(event.buf, root) then
        attach(event.buf, client_id)
      end
    end,
  })
  vim.api.nvim_create_autocmd({ "BufReadPost", "BufNewFile", "BufWritePost", "BufFilePost" }, {
    group = group,
    desc = "North sees the files that are open",
    callback = function(event)
      if vim.lsp.get_client_by_id(client_id) == nil then
        return true
      end
      if belongs(event.buf, root) then
        attach(event.buf, client_id)
      end
    end,
  })
end

---What Neovim can do, and that it looks at the versions of texts that it is to change.
---@return table
local function capabilities()
  local all = vim.lsp.protocol.make_client_capabilities()
  return vim.tbl_deep_extend("force", all, { workspace = { workspaceEdit = { documentChanges = true } } })
end

---Answer `workspace/applyEdit`: texts that were changed since the edit was made are left alone, and that is said.
---@type lsp.Handler
local function apply_edit(error, params, context)
  for _, change in ipairs(vim.tbl_get(params, "edit", "documentChanges") or {}) do
    local document = change.textDocument
    local version = document and document.version
    if version and version ~= vim.NIL and vim.lsp.util.buf_versions[vim.uri_to_bufnr(document.uri)] ~= version then
      return { applied = false, failureReason = vim.fs.basename(document.uri) .. " has been changed since" }
    end
  end
  params.label = nil -- Neovim prints it; the chat says what was changed
  return vim.lsp.handlers["workspace/applyEdit"](error, params, context)
end

---Start the server's process. Neovim tells of one that dies in a message that waits for a key; the chat tells of it, too.
---@param cmd string[]
---@param root string
---@param on_end fun(code: integer, signal: integer)
---@param is_left fun(): boolean whether it ends what it has begun when Neovim ends, which is told before Neovim has it shut down
---@return fun(dispatchers: vim.lsp.rpc.Dispatchers): vim.lsp.rpc.PublicClient
local function process(cmd, root, on_end, is_left)
  return function(dispatchers)
    local own = {
      on_exit = function(code, signal)
        on_end(code, signal)
        dispatchers.on_exit(0, 0)
      end,
    }
    local how = { cwd = root, env = config.current.env }
    local rpc = vim.lsp.rpc.start(cmd, vim.tbl_extend("force", dispatchers, own), how)
    local request = rpc and rpc.request
    if request then
      -- No autocommand comes in time: after ExitPre Neovim may stay, and before our VimLeavePre comes its own.
      rpc.request = function(method, ...)
        if method == "shutdown" and vim.v.exiting ~= vim.NIL and is_left() then
          rpc.notify("_north/leaving", vim.empty_dict())
        end
        return request(method, ...)
      end
    end
    return rpc
  end
end

---@class north.StartOptions
---@field root string
---@field handlers table<string, function>
---@field is_at_work fun(client_id: integer): boolean whether Neovim comes back to what the server does
---@field on_ready fun(client: vim.lsp.Client)
---@field on_exit fun(client_id: integer, code: integer, signal: integer) not called while Neovim itself is leaving

---Start the server.
---@param options north.StartOptions
---@return integer? client_id
---@return string? problem why it could not be started
function M.start(options)
  compat.validate("options.root", options.root, "string")
  compat.validate("options.handlers", options.handlers, "table")
  compat.validate("options.is_at_work", options.is_at_work, "function")
  compat.validate("options.on_ready", options.on_ready, "function")
  compat.validate("options.on_exit", options.on_exit, "function")
  local server, problem = M.find(options.root)
  if not server then
    return nil, problem
  end
  local how = { 0, 0 }
  local id ---@type integer?
  id = compat.start({
    name = "north",
    cmd = process(server.cmd, options.root, function(code, signal)
      how = { code, signal }
    end, function()
      return id ~= nil and options.is_at_work(id)
    end),
    root_dir = options.root,
    init_options = M.init_options(),
    settings = config.settings() and { north = config.settings() } or nil,
    capabilities = capabilities(),
    flags = { debounce_text_changes = 0 }, -- what North reads and what it answers is about what the buffer shows now
    handlers = vim.tbl_extend("error", options.handlers, { ["workspace/applyEdit"] = apply_edit }),
    on_init = function(client)
      attach_files(client.id, options.root)
      options.on_ready(client)
    end,
    on_exit = function(_, _, client_id)
      vim.schedule(function()
        if vim.v.exiting == vim.NIL then
          options.on_exit(client_id, how[1], how[2])
        end
      end)
    end,
  })
  if not id then
    -- The program is there: what is missing is what its first line names.
    local words = "%s could not be started; the Python that it names may be gone. Create its environment again."
    return nil, words:format(server.cmd[1])
  end
  return id
end

return M
