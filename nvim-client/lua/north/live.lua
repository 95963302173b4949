---The conversations that are open in this Neovim, and which of them is meant: the one that something is done for, else
---that of the present tab page, else the one that was shown last. What a module keeps of a conversation, it keeps here.
local M = {}

local TAB = "north_conversation"

---@class north.Live
---@field id integer the lowest number that is free; it names the buffers
---@field kept table<string, table> by module
---@field is_closed? boolean

---@type north.Live[] in the order in which they were opened
local all = {}
---@type north.Live? the one that was shown last
local shown

local MAIN = {}
---@type table<any, north.Live> by coroutine: a handler that sleeps means another one than what runs meanwhile
local meant = setmetatable({}, { __mode = "k" })

---@param id any
---@return north.Live?
local function find(id)
  for _, one in ipairs(all) do
    if one.id == id then
      return one
    end
  end
end

---@param tab integer
---@return north.Live?
local function of_tab(tab)
  local ok, id = pcall(vim.api.nvim_tabpage_get_var, tab, TAB)
  return ok and find(id) or nil
end

---Begin another one. It is not shown yet.
---@return north.Live
function M.new()
  local id = 1
  while find(id) do
    id = id + 1
  end
  local one = { id = id, kept = {} }
  all[#all + 1] = one
  return one
end

---The conversation that the user sees: that of the present tab page, else the one that was shown last.
---@return north.Live
function M.here()
  shown = of_tab(0) or shown or all[#all] or M.new()
  return shown
end

---The conversation that is meant.
---@return north.Live
function M.current()
  return meant[coroutine.running() or MAIN] or M.here()
end

---@return boolean whether the conversation that is meant is the one that the user sees
function M.is_here()
  return M.current() == M.here()
end

---Do something for a conversation.
---@generic T
---@param one north.Live
---@param action fun(...: any): T?
---@param ... any
---@return T?
function M.with(one, action, ...)
  local thread = coroutine.running() or MAIN
  local before = meant[thread]
  meant[thread] = one
  local results = { pcall(action, ...) }
  meant[thread] = before
  if not results[1] then
    error(results[2], 0)
  end
  return unpack(results, 2, table.maxn(results))
end

---Let the running coroutine, which is a handler's own, mean a conversation to its end, whatever it waits for.
---@param one north.Live
function M.enter(one)
  meant[assert(coroutine.running())] = one
end

---A function that does something later for the conversation that is meant now, unless that is closed by then.
---@param action fun(...: any): any
---@return fun(...: any): any
function M.bind(action)
  local one = M.current()
  return function(...)
    if not one.is_closed then
      return M.with(one, action, ...)
    end
  end
end

---What a module keeps of the conversation that is meant.
---@generic T: table
---@param name string
---@param make fun(): T what it is at first
---@return fun(): T
function M.keep(name, make)
  return function()
    local kept = M.current().kept
    if not kept[name] then
      kept[name] = make()
    end
    return kept[name]
  end
end

---@return north.Live[] all of them, in the order in which they were opened
function M.all()
  return vim.list_slice(all)
end

---The first one that a test holds for.
---@param test fun(): any
---@return north.Live?
function M.find(test)
  for _, one in ipairs(all) do
    if M.with(one, test) then
      return one
    end
  end
end

---Make it the one that the present tab page shows.
---@param one north.Live
function M.claim(one)
  vim.api.nvim_tabpage_set_var(0, TAB, one.id)
  shown = one
end

---The tab page that shows it; the present one, if that does.
---@param one north.Live
---@return integer?
function M.tab_of(one)
  for _, tab in ipairs(vim.list_extend({ vim.api.nvim_get_current_tabpage() }, vim.api.nvim_list_tabpages())) do
    if of_tab(tab) == one then
      return tab
    end
  end
end

---It is not open any more.
---@param one north.Live
function M.close(one)
  one.is_closed = true
  all = vim.tbl_filter(function(other)
    return other ~= one
  end, all)
  shown = shown ~= one and shown or nil
  for _, tab in ipairs(vim.api.nvim_list_tabpages()) do
    local ok, id = pcall(vim.api.nvim_tabpage_get_var, tab, TAB)
    if ok and id == one.id then
      vim.api.nvim_tabpage_del_var(tab, TAB)
    end
  end
end

---What the one that is meant is called: its number tells it from others where there are any.
---@return string
function M.name()
  return #all > 1 and ("North %d"):format(M.current().id) or "North"
end

---A buffer of the one that is meant.
---@param what string
---@return string
function M.buffer_name(what)
  local id = M.current().id
  return id == 1 and "north://" .. what or ("north://%s/%d"):format(what, id)
end

---Let the user choose, for the conversation that is meant now: by then another tab page may be shown.
---@param items any[]
---@param options table
---@param on_choice fun(item: any, index: integer?)
function M.select(items, options, on_choice)
  vim.ui.select(items, options, M.bind(on_choice))
end

---Have the user type something, for the conversation that is meant now.
---@param options table
---@param on_confirm fun(text: string?)
function M.input(options, on_confirm)
  vim.ui.input(options, M.bind(on_confirm))
end

return M
