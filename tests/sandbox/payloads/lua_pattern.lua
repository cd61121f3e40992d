-- A match that backtracks for ever, in C.
function attack()
  return "LANG: " .. tostring(string.find(string.rep("a", 5000), string.rep(".-", 12) .. "b"))
end
