---`:North` and its subcommands.
local actions = require("north.actions")
local allowed = require("north.allowed")
local attachments = require("north.attachments")
local context = require("north.context")
local conversation = require("north.conversation")
local conversations = require("north.conversations")
local export = require("north.export")
local history = require("north.history")
local keymaps = require("north.keymaps")
local learned = require("north.learned")
local live = require("north.live")
local lives = require("north.lives")
local login = require("north.login")
local messages = require("north.messages")
local options = require("north.options")
local queue = require("north.queue")
local rewind = require("north.rewind")
local settings = require("north.settings")
local storage = require("north.storage")
local summaries = require("north.summaries")
local tasks = require("north.tasks")
local todo = require("north.todo")
local undo = require("north.undo")
local work = require("north.work")

local M = {}

local MODES = { "ask", "agent", "plan" }
local STYLES = { "tab", "inline" }
local WORDS = {
  conversations = { "--all", "--archived" },
  goal = { "edit" },
  log = storage.levels,
  mode = MODES,
  restore = { "--all" },
  retry = { "now", "abort" },
  review = STYLES,
  tree = rewind.filters,
  undo = { "choose" },
}

---The lines of a range, or exactly what was selected when the range is the last visual selection.
---@param arguments table
---@return north.Selection?
local function selection_of(arguments)
  if arguments.range == 0 then
    return nil
  end
  local first, last = arguments.line1, arguments.line2
  local from, to = vim.fn.getpos("'<"), vim.fn.getpos("'>")
  local lines
  if vim.fn.visualmode() ~= "" and from[2] == first and to[2] == last then
    lines = vim.fn.getregion(from, to, { type = vim.fn.visualmode() })
  else
    lines = vim.api.nvim_buf_get_lines(0, first - 1, last, false)
  end
  local one = attachments.selection(first, last, lines)
  local resource = one.block.resource
  return { uri = resource.uri, text = resource.text, label = one.label, first = first, last = last }
end

---Change an option of the conversation: to what the words name, or to what the user chooses.
---@param id string
---@return fun(words: string)
local function option(id)
  return function(words)
    conversation.with_session(function()
      options.choose(conversation.ask_server, id, words)
    end)
  end
end

---@type table<string, fun(words: string, arguments: table)>
local subcommands = {
  attach = function(words, arguments)
    local selection = selection_of(arguments)
    if selection then
      local resource = { uri = selection.uri, text = selection.text }
      attachments.add({ label = selection.label, block = { type = "resource", resource = resource } })
      conversation.open(false)
    else
      attachments.attach(words)
    end
  end,
  detach = function()
    attachments.detach()
  end,
  checkpoints = function()
    undo.checkpoints(conversation.ask_server)
  end,
  close = function()
    keymaps.close()
  end,
  edit = function(words, arguments)
    actions.edit(words, selection_of(arguments))
  end,
  keys = function()
    keymaps.help()
  end,
  model = option("model"),
  options = function()
    conversation.with_session(function()
      options.browse(conversation.ask_server)
    end)
  end,
  permissions = function()
    allowed.choose(conversation.ask_server)
  end,
  prompts = function(words)
    conversation.with_server(function(ask, root)
      history.choose(ask, root, words, conversation.draft)
    end)
  end,
  thinking = option("thought_level"),
  toggle = function()
    conversation.toggle()
  end,
  zoom = function()
    conversation.zoom()
  end,
  archive = function()
    conversations.archive()
  end,
  continue = function()
    conversations.continue()
  end,
  conversations = function(words)
    conversations.browse(words)
  end,
  delete = function(words)
    conversations.delete(words)
  end,
  rename = function(words)
    conversations.rename(words)
  end,
  import = function(words)
    conversations.import(words)
  end,
  restore = function(words)
    conversations.restore(words)
  end,
  resume = function(words)
    conversations.resume(words)
  end,
  live = function()
    lives.choose()
  end,
  tab = function(words)
    conversations.in_tab(words)
  end,
  ask = function(words, arguments)
    local selection = selection_of(arguments)
    if words ~= "" then
      conversation.ask(words, selection)
      return
    end
    live.input({ prompt = selection and ("North, about %s: "):format(selection.label) or "North: " }, function(text)
      if text and vim.trim(text) ~= "" then
        conversation.ask(text, selection)
      end
    end)
  end,
  log = function(words)
    storage.log(conversation.ask_server, words)
  end,
  config = function(words)
    settings.choose(conversation.ask_server, words)
  end,
  context = function()
    context.show(conversation.ask_server)
  end,
  learned = function()
    learned.open(conversation.ask_server)
  end,
  dump = function()
    export.show(conversation.ask_server)
  end,
  export = function(words)
    conversation.with_session(function(id, root)
      export.write(conversation.ask_server, words, root, id)
    end)
  end,
  branch = function()
    rewind.branch(conversation.places())
  end,
  fork = function()
    rewind.fork(conversation.places())
  end,
  replaced = function()
    summaries.replaced(conversation.ask_server)
  end,
  rewind = function()
    rewind.rewind(conversation.places())
  end,
  tree = function(words)
    rewind.tree(conversation.places(), words)
  end,
  login = function(words)
    login.login(conversation.ask_server, words)
  end,
  mode = function(words)
    if words == "" then
      option("mode")("")
    elseif vim.list_contains(MODES, words) then
      conversation.set_mode(words)
    else
      messages.tell("North: usage: :North mode ask|agent|plan", vim.log.levels.ERROR)
    end
  end,
  new = function()
    conversation.new()
  end,
  review = function(words)
    if words ~= "" and not vim.list_contains(STYLES, words) then
      messages.tell("North: usage: :North review [tab|inline]", vim.log.levels.ERROR)
      return
    end
    conversation.review(words ~= "" and words or nil)
  end,
  steer = function(words)
    conversation.steer(words)
  end,
  retry = function(words)
    if words == "" or words == "now" then
      conversation.end_wait(true)
    elseif words == "abort" then
      conversation.end_wait(false)
    else
      messages.tell("North: usage: :North retry now|abort", vim.log.levels.ERROR)
    end
  end,
  tasks = function()
    tasks.choose(conversation.ask_server)
  end,
  todo = function()
    todo.edit(conversation.ask_server)
  end,
  goal = function(words)
    if words == "" then
      work.open(conversation.ask_server, conversation.say)
    elseif words == "edit" then
      work.edit(conversation.ask_server)
    else
      messages.tell("North: usage: :North goal [edit]", vim.log.levels.ERROR)
    end
  end,
  work = function()
    work.open(conversation.ask_server, conversation.say)
  end,
  takeover = function()
    conversation.take_over()
  end,
  storage = function()
    storage.storage(conversation.ask_server)
  end,
  undo = function(words)
    if words == "" then
      undo.take_back(conversation.ask_server, { steps = 1 })
    elseif words == "choose" then
      undo.choose(conversation.ask_server)
    else
      messages.tell("North: usage: :North undo [choose]", vim.log.levels.ERROR)
    end
  end,
  redo = function()
    undo.take_back(conversation.ask_server, { redo = 1 })
  end,
  queue = function()
    queue.choose()
  end,
  stop = function()
    conversation.stop()
  end,
}

for name in pairs(actions.known) do
  subcommands[name] = function(words, arguments)
    actions.run(name, words, selection_of(arguments))
  end
end

---@param arguments table what |nvim_create_user_command()| passes
function M.run(arguments)
  local name, words = arguments.args:match("^(%S*)%s*(.-)%s*$")
  if name == "" then
    conversation.begin()
    return
  end
  local subcommand = subcommands[name]
  if not subcommand then
    local known = vim.tbl_keys(subcommands)
    table.sort(known)
    messages.tell(("North: there is no :North %s, only %s"):format(name, table.concat(known, ", ")), vim.log.levels.ERROR)
    return
  end
  live.with(live.here(), subcommand, words, arguments)
end

---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local before = line:match("North%s+(.*)$") or ""
  local first = before:match("^(%S+)%s")
  local candidates = {}
  if first == nil then
    candidates = vim.tbl_keys(subcommands)
    table.sort(candidates)
  elseif first == "model" or first == "thinking" then
    candidates = options.values(first == "model" and "model" or "thought_level")
  elseif first == "attach" then
    candidates = vim.list_extend(vim.deepcopy(attachments.sources), vim.fn.getcompletion(lead, "file"))
  elseif first == "config" then
    candidates = settings.names()
  elseif first == "export" or first == "import" then
    candidates = vim.fn.getcompletion(lead, "file")
  else
    candidates = WORDS[first] or {}
  end
  return vim.tbl_filter(function(candidate)
    return vim.startswith(candidate, lead)
  end, candidates)
end

return M
