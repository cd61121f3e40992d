-- As if ffi had been found: read a file.
function attack()
  W_FFI.cdef("int open(const char *, int, ...); long read(int, void *, unsigned long);")
  local fd = W_FFI.C.open("/etc/passwd", 0)
  if fd >= 0 then return "GOT: a descriptor, " .. fd end
end
