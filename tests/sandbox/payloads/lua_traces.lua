-- New machine code for ever.
function attack()
  while true do load("local n = 0; for i = 1, 100 do n = n + i end")() end
end
