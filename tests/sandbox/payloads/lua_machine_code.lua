-- As if ffi had been found: own machine code, in a page that was writable before. It may run; what it asks of the kernel may not.
function attack()
  if jit.arch ~= "x64" then return "LANG: machine code for another machine" end
  W_FFI.cdef("void *mmap(void *, size_t, int, int, int, long); int mprotect(void *, size_t, int);")
  local p = W_FFI.C.mmap(nil, 4096, 3, 0x22, -1, 0)
  -- mov eax, 41 (socket); mov edi, 2; mov esi, 1; xor edx, edx; syscall; ret
  W_FFI.copy(p, "\184\41\0\0\0\191\2\0\0\0\190\1\0\0\0\49\210\15\5\195", 20)
  if W_FFI.C.mprotect(p, 4096, 5) ~= 0 then return "LANG: no machine code" end
  if W_FFI.cast("int (*)(void)", p)() >= 0 then return "GOT: a socket by own code" end
end
