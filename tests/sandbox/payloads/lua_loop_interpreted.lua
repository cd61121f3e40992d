-- A loop in the interpreter that swallows every error.
jit.off()
function attack()
  while true do
    pcall(function()
      local n = 0
      while true do n = n + 1 end
    end)
  end
end
