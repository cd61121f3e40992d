-- One string of two GiB.
function attack() return "GOT: " .. #string.rep("x", 2147483000) end
