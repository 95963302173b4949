---Storing a provider's API key: typed without being shown, tried out and kept by the server.
local live = require("north.live")
local refused = require("north.answers").refused
local messages = require("north.messages")

local M = {}

local STORE, KEEP = "Store it anyway", "Do not store it"

---@param ask north.Ask
---@param provider { id: string, name: string }
---@param key string
---@param force boolean
local function store(ask, provider, key, force)
  ask("_north/keys/set", { provider = provider.id, key = key, force = force }, function(error, result)
    if result then
      messages.tell(("North has stored the key %s of %s"):format(result.key.ending, provider.name))
    elseif error and type(error.data) == "table" and error.data.mayForce then
      live.select({ STORE, KEEP }, { prompt = error.message, format_item = tostring }, function(answer)
        if answer == STORE then
          store(ask, provider, key, true)
        end
      end)
    else
      refused(error)
    end
  end)
end

---@param ask north.Ask
---@param provider { id: string, name: string, signsIn: boolean? }
local function enter(ask, provider)
  if provider.signsIn then
    require("north.conversation").ask("/login " .. provider.id)
    return
  end
  local key = vim.trim(vim.fn.inputsecret(("API key of %s: "):format(provider.name)))
  if key ~= "" then
    store(ask, provider, key, false)
  end
end

---@param ask north.Ask
---@param id string a provider's id, or "" to choose one
function M.login(ask, id)
  ask("_north/keys/list", {}, function(error, result)
    if not result then
      refused(error)
      return
    end
    for _, provider in ipairs(result.providers) do
      if provider.id == id then
        enter(ask, provider)
        return
      end
    end
    local stored = {}
    for _, key in ipairs(result.keys) do
      local rest = type(key.rest) == "string" and (" " .. key.rest) or ""
      stored[key.provider] = (stored[key.provider] and stored[key.provider] .. ", " or "stored: ") .. key.ending .. rest
    end
    live.select(result.providers, {
      prompt = "Whose API key?",
      format_item = function(provider)
        local keys = stored[provider.id] and (", " .. stored[provider.id]) or ""
        keys = provider.signsIn and ", signs you in, in a browser" or keys
        return ("%s (%s)%s"):format(provider.name, provider.id, keys)
      end,
    }, function(provider)
      if provider then
        enter(ask, provider)
      end
    end)
  end)
end

return M
