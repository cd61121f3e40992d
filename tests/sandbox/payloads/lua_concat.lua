-- A string that doubles.
function attack()
  local s = "xxxxxxxx"
  while #s < 1e9 do s = s .. s end
  return "GOT: " .. #s
end
