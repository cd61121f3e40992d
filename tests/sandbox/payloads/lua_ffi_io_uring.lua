-- As if ffi had been found: io_uring_setup, to do I/O outside the filter.
function attack()
  W_FFI.cdef("long syscall(long, ...);")
  return "GOT: io_uring " .. tostring(W_FFI.C.syscall(425, W_FFI.cast("long", 8), W_FFI.new("char[120]")))
end
