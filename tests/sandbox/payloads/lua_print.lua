-- Ten thousand lines for the log.
function attack()
  for i = 1, 10000 do print(string.rep("x", 100), i) end
  return "LANG: printed"
end
