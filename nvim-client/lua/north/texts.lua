---Texts of files as buffers hold them: lines without their ends, and the file's own options.
local M = {}

---@class north.Form
---@field is_dos boolean every line ends with CR LF
---@field has_end boolean the last line has an end, too

---@param text string
---@return north.Form
function M.form(text)
  local _, all = text:gsub("\n", "")
  local _, dos = text:gsub("\r\n", "")
  return { is_dos = all > 0 and all == dos, has_end = text:sub(-1) == "\n" }
end

---@param text string
---@param form north.Form
---@return string[]
function M.lines(text, form)
  local lines = vim.split(form.is_dos and text:gsub("\r\n", "\n") or text, "\n", { plain = true })
  if #lines > 1 and lines[#lines] == "" then
    lines[#lines] = nil
  end
  return lines
end

---@param lines string[]
---@param form north.Form
---@return string
function M.joined(lines, form)
  local line_end = form.is_dos and "\r\n" or "\n"
  if #lines == 0 or (#lines == 1 and lines[1] == "") then
    return ""
  end
  return table.concat(lines, line_end) .. (form.has_end and line_end or "")
end

local OPTIONS = { "expandtab", "shiftwidth", "softtabstop", "tabstop", "textwidth", "commentstring", "autoindent" }

---Give a buffer the options of the file whose text it holds: those of its buffer, or of its type. Not the type itself,
---which would start language servers and the like for a text that is no file.
---@param buffer integer
---@param path string
function M.dress(buffer, path)
  local kind = vim.filetype.match({ filename = path, buf = buffer }) or ""
  vim.bo[buffer].syntax = kind
  local file = vim.fn.bufnr("^" .. vim.fn.escape(path, "\\^$.*~[]?{},") .. "$")
  local is_loaded = file ~= -1 and vim.api.nvim_buf_is_loaded(file)
  for _, option in ipairs(OPTIONS) do
    local ok, value = true, nil
    if is_loaded then
      value = vim.bo[file][option]
    elseif kind ~= "" then
      ok, value = pcall(vim.filetype.get_option, kind, option)
    end
    if ok and value ~= nil then
      vim.bo[buffer][option] = value
    end
  end
end

return M
