-- As if ffi had been found: sockets of several families.
function attack()
  W_FFI.cdef("int socket(int, int, int);")
  for _, family in ipairs({ 1, 2, 10, 16, 40 }) do
    if W_FFI.C.socket(family, 1, 0) >= 0 then return "GOT: a socket of family " .. family end
  end
end
