-- A finaliser that never ends; hooks are off while it runs.
function attack()
  getmetatable(newproxy(true)).__gc = function() while true do end end
  collectgarbage()
  return "LANG: the finaliser was not run"
end
