-- Coroutines within coroutines, until the C stack or the memory ends.
function attack()
  local function deeper(n) return coroutine.wrap(function() return deeper(n + 1) end)() end
  return deeper(1)
end
