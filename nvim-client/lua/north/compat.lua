---What Neovim 0.10 spells otherwise than its later versions, in the later form.
local M = {}

local IS_NEW = vim.fn.has("nvim-0.11") == 1

---Whether treesitter looks only at the part of a text that is shown, however long the text is.
M.parses_in_parts = IS_NEW

---@param name string
---@param value any
---@param expected string|fun(value: any): boolean
---@param extra? boolean|string whether it may be nil, or what a function expects, in words
function M.validate(name, value, expected, extra)
  if IS_NEW then
    vim.validate(name, value, expected, extra)
  else
    vim.validate({ [name] = { value, expected, extra } })
  end
end

---Call a method of a client, such as "request".
---@param client vim.lsp.Client
---@param name string
---@param ... any
---@return any ...
function M.call(client, name, ...)
  if IS_NEW then
    return client[name](client, ...)
  end
  return client[name](...)
end

---Start a language server without attaching it to any buffer.
---@param config vim.lsp.ClientConfig
---@return integer? client_id
function M.start(config)
  if IS_NEW then
    return vim.lsp.start(config, {
      attach = false,
      silent = true,
      reuse_client = function()
        return false
      end,
    })
  end
  return (vim.lsp.start_client(config))
end

---The path below a folder, nil for one that is not below it.
---@param folder string
---@param path string
---@return string?
function M.relpath(folder, path)
  if vim.fs.relpath then
    return vim.fs.relpath(folder, path)
  end
  folder, path = vim.fs.normalize(folder), vim.fs.normalize(path)
  if folder == path then
    return "."
  end
  local start = vim.endswith(folder, "/") and folder or folder .. "/"
  return vim.startswith(path, start) and path:sub(#start + 1) or nil
end

---How many units of an encoding come before a byte; a place behind the text's end is its end.
---@param text string
---@param encoding "utf-8"|"utf-16"|"utf-32"
---@param byte? integer from 0; the end without one
---@return integer
function M.units(text, encoding, byte)
  byte = math.min(byte or #text, #text)
  if IS_NEW then
    return vim.str_utfindex(text, encoding, byte, false)
  elseif encoding == "utf-8" then
    return byte
  end
  local utf32, utf16 = vim.str_utfindex(text, byte)
  return encoding == "utf-16" and utf16 or utf32
end

---Which byte so many units of an encoding come before; what is too much is the end.
---@param text string
---@param encoding "utf-8"|"utf-16"|"utf-32"
---@param units integer
---@return integer
function M.byte(text, encoding, units)
  if IS_NEW then
    return vim.str_byteindex(text, encoding, units, false)
  elseif encoding == "utf-8" then
    return math.min(units, #text)
  end
  local ok, byte = pcall(vim.str_byteindex, text, units, encoding == "utf-16")
  return ok and byte or #text
end

---Whether a parser for a language is there.
---@param language string
---@return boolean
function M.has_parser(language)
  local ok, added = pcall(vim.treesitter.language.add, language)
  return ok and (not IS_NEW or (added ~= nil and added ~= false))
end

return M
