-- A loop that becomes machine code: no hook stops it.
function attack()
  local n = 0
  while true do n = n + 1 end
end
