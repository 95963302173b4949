if vim.g.loaded_north then
  return
end
vim.g.loaded_north = true

vim.api.nvim_create_user_command("North", function(arguments)
  require("north.command").run(arguments)
end, {
  nargs = "*",
  range = true,
  desc = "Talk to North",
  complete = function(lead, line)
    return require("north.command").complete(lead, line)
  end,
})

vim.keymap.set({ "n", "i" }, "<Plug>(north-take-suggestion)", function()
  require("north").take_suggestion()
end, { desc = "North: take what is proposed" })
vim.keymap.set({ "n", "i" }, "<Plug>(north-dismiss-suggestion)", function()
  require("north").dismiss_suggestion()
end, { desc = "North: dismiss what is proposed" })

vim.api.nvim_create_autocmd({ "TextChanged", "InsertLeave" }, {
  group = vim.api.nvim_create_augroup("north.edits", { clear = true }),
  desc = "North: where the user typed last",
  callback = function(event)
    require("north.editor_state").edited(event.buf)
  end,
})
