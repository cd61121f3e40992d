-- Columns have no bounds: a write to address 8.
function attack()
  W_FFI.cast("int *", 8)[0] = 1
  return "GOT: address 8"
end
