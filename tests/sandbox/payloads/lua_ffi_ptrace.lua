-- As if ffi had been found: ptrace, which no honest plugin calls.
function attack()
  W_FFI.cdef("long ptrace(long, int, void *, void *);")
  return "GOT: ptrace " .. tostring(W_FFI.C.ptrace(0, 0, nil, nil))
end
