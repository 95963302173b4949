---Titles of calls that are done: the server's say what is being done.
local M = {}

---By the first word of a title, what it says once it is done.
local DONE = {
  Answering = "Answered",
  Applying = "Applied",
  Checking = "Checked",
  Creating = "Created",
  Deleting = "Deleted",
  Detecting = "Detected",
  Editing = "Edited",
  Ending = "Ended",
  Expanding = "Expanded",
  Extracting = "Extracted",
  Finding = "Found",
  Formatting = "Formatted",
  Listing = "Listed",
  Looking = "Looked",
  Moving = "Moved",
  Outlining = "Outlined",
  Reading = "Read",
  Renaming = "Renamed",
  Running = "Ran",
  Searching = "Searched",
  Starting = "Started",
  Undoing = "Undid",
  Waiting = "Waited",
  Writing = "Wrote",
}

---A title whose first word is not known stays as it is.
---@param title string
---@return string
function M.when_done(title)
  local word, rest = title:match("^(%a+)( .*)$")
  return DONE[word] and DONE[word] .. rest or title
end

return M
