---`:checkhealth north`
local server = require("north.server")

local M = {}

local WAIT_MS = 10000

---@param cmd string[]
local function check_version(cmd)
  local ok, result = pcall(function()
    return vim.system(server.version_cmd(cmd), { text = true }):wait(WAIT_MS)
  end)
  if ok and result.code == 0 then
    vim.health.ok("version: " .. vim.trim(result.stdout))
  else
    local said = ok and vim.trim(result.stderr or "") or tostring(result)
    vim.health.error("the server does not print its version: " .. said, "Run `north-lsp doctor` in a terminal.")
  end
end

---@param rpc vim.lsp.rpc.PublicClient
---@param method string
---@param params? table
---@return table? result nil for an older server
local function ask(rpc, method, params)
  local answer, done
  rpc.request(method, params or vim.empty_dict(), function(_, result)
    answer, done = result, true
  end)
  vim.wait(WAIT_MS, function()
    return done
  end, 10)
  return answer
end

---Who can answer, and by whose keys.
---@param rpc vim.lsp.rpc.PublicClient
local function check_models(rpc)
  local status, found = ask(rpc, "auth/status"), ask(rpc, "_north/models/list", { available = true })
  if not status or not found then
    return
  end
  local accounts = vim.tbl_map(function(account)
    return account.label
  end, status.accounts or {})
  if #accounts > 0 then
    vim.health.ok("keys: " .. table.concat(accounts, ", "))
  else
    vim.health.warn("no API key: only models that need none can answer", "`:North login` stores one.")
  end
  local models = #found.models == 1 and "1 model" or #found.models .. " models"
  vim.health.ok(models .. " can be used; `:North model` chooses one")
end

---What North keeps, and where its log is, as the server tells.
---@param rpc vim.lsp.rpc.PublicClient
local function check_storage(rpc)
  local kept = ask(rpc, "_north/storage/get")
  if not kept then
    return -- an older server
  end
  local storage, total = require("north.storage"), 0
  for _, area in ipairs(kept.areas) do
    total = total + area.size
  end
  local words = "North keeps %s in %s; `:North storage` shows what frees it"
  vim.health.ok(words:format(storage.size(total), kept.data))
  vim.health.ok(("North's log: %s/north.log; `:North log` shows its end"):format(kept.state))
end

---A server of its own: the one that may be running is left alone.
---@param cmd string[]
---@param root string
local function check_initialize(cmd, root)
  local answer, problem, ended
  local ok, rpc = pcall(vim.lsp.rpc.start, cmd, {
    on_exit = function(code)
      ended = code
    end,
  }, { cwd = root, env = require("north.config").current.env })
  if not ok then
    vim.health.error("the server does not start: " .. tostring(rpc))
    return
  end
  local params = {
    processId = vim.uv.os_getpid(),
    rootUri = vim.uri_from_fname(root),
    capabilities = vim.empty_dict(),
    initializationOptions = server.init_options(),
  }
  rpc.request("initialize", params, function(err, result)
    answer, problem = result, err
  end)
  vim.wait(WAIT_MS, function()
    return answer ~= nil or problem ~= nil or ended ~= nil
  end, 10)
  if answer then
    local north = vim.tbl_get(answer, "capabilities", "experimental", "north")
    if north then
      local words = "initialize is answered by %s %s, the chat speaks protocol version %d"
      local info = answer.serverInfo or {}
      vim.health.ok(words:format(info.name or "?", info.version or "?", north.protocolVersion))
    else
      vim.health.error("the server answers initialize, but does not offer the chat", "Update north-lsp.")
    end
    rpc.notify("initialized", vim.empty_dict())
    check_models(rpc)
    check_storage(rpc)
    rpc.request("shutdown", nil, function()
      rpc.notify("exit")
    end)
    vim.wait(2000, function()
      return ended ~= nil
    end, 10)
  else
    local said = problem and problem.message or ended and ("it ended with exit code %d"):format(ended) or "no answer"
    vim.health.error("initialize failed: " .. said, {
      "Run `north-lsp doctor` in a terminal.",
      "Its messages are in " .. vim.lsp.log.get_filename(),
    })
  end
  if ended == nil then
    rpc.terminate()
  end
end

function M.check()
  vim.health.start("North")
  if vim.fn.has("nvim-0.10") == 1 then
    vim.health.ok("Neovim " .. tostring(vim.version()))
  else
    vim.health.error("Neovim is older than 0.10", "Update Neovim.")
  end
  local root = server.root()
  local found, problem = server.find(root)
  if not found then
    vim.health.error("no server", problem)
    return
  end
  vim.health.ok(("server: %s (from %s)"):format(table.concat(found.cmd, " "), found.source))
  check_version(found.cmd)
  check_initialize(found.cmd, root)
end

return M
