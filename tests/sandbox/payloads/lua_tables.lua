-- Tables until there is no more.
function attack()
  local t = {}
  for i = 1, 1e9 do t[i] = { i } end
  return "GOT: " .. #t
end
