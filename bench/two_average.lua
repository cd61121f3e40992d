-- SPDX-License-Identifier: Apache-2.0
-- Two moving averages of the middle price, as two_average.c has them. gap: the fast one less the slow one, for rules that decide.
-- signal: decided here: 1 when the fast one comes above the slow one, -1 when it falls below, else 0.
local fast, slow = 0, 0
redan.batch("gap(bid: float, ask: float) -> float", function(b, out)
  local bid, ask, value = b.col.bid, b.col.ask, out.value
  local f, s = fast, slow                                  -- locals live in registers
  for i = 0, b.n - 1 do
    local mid = (bid[i] + ask[i]) * 0.5
    f = f + 0.2 * (mid - f)
    s = s + 0.05 * (mid - s)
    value[i] = f - s
  end
  fast, slow = f, s
end)

local sig_fast, sig_slow, above = 0, 0, 0
redan.batch("signal(bid: float, ask: float) -> int", function(b, out)
  local bid, ask, value = b.col.bid, b.col.ask, out.value
  local f, s, was = sig_fast, sig_slow, above
  for i = 0, b.n - 1 do
    local mid = (bid[i] + ask[i]) * 0.5
    f = f + 0.2 * (mid - f)
    s = s + 0.05 * (mid - s)
    local now = f > s and 1 or 0
    value[i] = now - was
    was = now
  end
  sig_fast, sig_slow, above = f, s, was
end)
