---What stands in the chat's winbar: what goes on, and at the right end as many facts as there is room for.
local M = {}

---@class north.Fact
---@field text string drawn as it is
---@field spare integer the fact with the highest number is left out first; one with 0 never is

---@param window integer
---@param state string
---@param facts north.Fact[]
---@return string
function M.text(window, state, facts)
  local left, width = " " .. state:gsub("%%", "%%%%"), vim.api.nvim_win_get_width(window)
  local shown = facts
  while true do
    local most, texts = 0, {}
    for _, fact in ipairs(shown) do
      most, texts[#texts + 1] = math.max(most, fact.spare), fact.text
    end
    local right = #texts > 0 and table.concat(texts, " · ") .. " " or ""
    local options = { winid = window, use_winbar = true, maxwidth = vim.o.columns + width }
    if most == 0 or vim.api.nvim_eval_statusline(left .. " " .. right, options).width <= width then
      return left .. "%<" .. (right ~= "" and " %=" .. right or "")
    end
    shown = vim.tbl_filter(function(fact)
      return fact.spare < most
    end, shown)
  end
end

return M
