-- The libraries a script would look for first.
function attack()
  if os and os.execute then return "GOT: os.execute " .. tostring(os.execute("id")) end
  if io and io.open then return "GOT: io.open" end
  for _, name in ipairs({ "ffi", "io", "os", "debug", "package", "jit.opt", "jit.util", "string.buffer", "socket" }) do
    local ok, m = pcall(require, name)
    if ok then return "GOT: require " .. name .. " " .. type(m) end
  end
  if package or debug or dofile or loadfile or jit.opt or jit.util or jit.attach then return "GOT: a library" end
  return "LANG: none of them"
end
