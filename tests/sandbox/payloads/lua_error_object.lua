-- The error is an object, and showing it runs on for ever.
function attack()
  error(setmetatable({}, { __tostring = function() local n = 0; while true do n = n + 1 end end }))
end
