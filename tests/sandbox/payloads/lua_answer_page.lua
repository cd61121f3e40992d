-- Scribble over the answer page, head and values, again and again.
function attack()
  local page = W_FFI.cast("uint8_t *", W_ADDR) - 12288
  while true do
    for i = 0, 12287 do page[i] = (i * 167) % 256 end
  end
end
