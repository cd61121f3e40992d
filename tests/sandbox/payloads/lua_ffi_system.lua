-- As if ffi had been found: run a command.
function attack()
  W_FFI.cdef("int system(const char *);")
  if W_FFI.C.system("true") == 0 then return "GOT: a command" end
end
