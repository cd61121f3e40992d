-- A finaliser that raises between two calls, when nobody waits for this worker.
function attack()
  for _ = 1, 5000 do
    local p = newproxy(true)
    getmetatable(p).__gc = function() error("nobody is here") end
  end
  return "LANG: later"
end
