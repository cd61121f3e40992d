-- Byte code is checked by nobody; loading it gives memory. string.dump, load and loadstring must not help.
function attack()
  if string.dump then return "GOT: string.dump " .. #string.dump(attack) end
  local code = "\27LJ\2\8\0\0"
  for _, f in ipairs({ load, loadstring }) do
    local ok, chunk = pcall(f, code, "x", "b")
    if ok and chunk then return "GOT: byte code was loaded" end
  end
  local ok, chunk = pcall(load, function() local c = code; code = nil; return c end, "x", "b", {})
  if ok and chunk then return "GOT: byte code was loaded in pieces" end
  return "LANG: text only"
end
