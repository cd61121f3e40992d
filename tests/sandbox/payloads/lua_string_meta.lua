-- The methods of all strings, and the functions that the host might call by name.
function attack()
  local meta = getmetatable("")
  meta.__index = function() return function() error("yours now") end end
  meta.__concat = function() return "GOT: concat" end
  for _, t in ipairs({ string, table, math, coroutine }) do
    for name in pairs(t) do t[name] = function() error("yours now") end end
  end
  tostring, pairs, ipairs, error, pcall, xpcall, select, type = nil, nil, nil, nil, nil, nil, nil, nil
  return "LANG: they were not needed"
end
