---The highlight groups of what North shows; each is linked to a common one unless the user or a color scheme has it.
local M = {}

---@type table<string, string>
M.links = {
  NorthUser = "Title",
  NorthAgent = "Special",
  NorthFacts = "Comment",
  NorthThought = "Comment",
  NorthNotice = "Comment",
  NorthWarning = "DiagnosticWarn",
  NorthError = "DiagnosticError",
  NorthRunning = "DiagnosticInfo",
  NorthWaiting = "DiagnosticWarn",
  NorthDone = "DiagnosticOk",
  NorthFailed = "DiagnosticError",
  NorthKey = "Keyword",
  NorthAttachment = "Identifier",
  NorthAdded = "DiffAdd",
  NorthRemoved = "DiffDelete",
  NorthLeftOut = "Comment",
  NorthSuggestion = "Comment",
}

local function define()
  for name, link in pairs(M.links) do
    vim.api.nvim_set_hl(0, name, { link = link, default = true })
  end
end

define()
vim.api.nvim_create_autocmd("ColorScheme", {
  group = vim.api.nvim_create_augroup("north.highlights", { clear = true }),
  desc = "North: its groups, which a color scheme clears",
  callback = define,
})

return M
