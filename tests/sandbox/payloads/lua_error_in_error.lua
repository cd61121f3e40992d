-- Showing the error raises, and so does showing that.
function attack()
  local bad = setmetatable({}, {})
  getmetatable(bad).__tostring = function() error(bad) end
  error(bad)
end
