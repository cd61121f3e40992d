-- A loop before any call.
local n = 0
while true do n = n + 1 end
function attack() return "GOT: never" end
