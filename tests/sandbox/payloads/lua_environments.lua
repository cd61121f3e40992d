-- From a function of the host to its environment, its table and ffi.
function attack()
  for level = 0, 8 do
    local ok, env = pcall(getfenv, level)
    if ok and (rawget(env, "host") or rawget(env, "ffi")) then return "GOT: the host's environment" end
  end
  for _, f in ipairs({ redan.plugin, redan.batch, redan.config, redan.now, print, require, math.random, load }) do
    local env = getfenv(f)
    if rawget(env, "host") or rawget(env, "ffi") or env ~= _G then return "GOT: an environment of its own" end
  end
  setfenv(0, setmetatable({}, { __index = function() error("gone") end }))
  return "LANG: the globals, and they are mine"
end
