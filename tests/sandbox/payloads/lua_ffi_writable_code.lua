-- As if ffi had been found: memory that is writable and executable at once, in one place or in two.
function attack()
  W_FFI.cdef("void *mmap(void *, size_t, int, int, int, long); int mprotect(void *, size_t, int); void *mremap(void *, size_t, size_t, int);")
  local C, none = W_FFI.C, W_FFI.cast("void *", -1)
  if C.mmap(nil, 4096, 7, 0x22, -1, 0) ~= none then return "GOT: a page that is both" end
  if C.mmap(nil, 4096, 5, 0x22, -1, 0) ~= none then return "GOT: an executable page" end
  local p = C.mmap(nil, 4096, 3, 0x22, -1, 0)
  if p == none then return "LANG: no page at all" end
  if C.mprotect(p, 4096, 7) == 0 then return "GOT: a page that became both" end
  local answers = W_FFI.cast("char *", W_ADDR)             -- a page that is shared
  for _, old in ipairs({ 0ULL, 0xffffffffffffffffULL }) do
    local again = C.mremap(answers, old, 4096, 1)
    if again ~= none and C.mprotect(again, 4096, 5) == 0 then return "GOT: a page to write that is another to run" end
  end
end
