-- Loops in coroutines, each of which swallows its error and starts the next.
jit.off()
function attack()
  while true do
    local co = coroutine.create(function() while true do pcall(coroutine.yield) end end)
    for _ = 1, 100 do coroutine.resume(co) end
  end
end
