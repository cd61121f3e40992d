-- Two moving averages a symbol: trend says on which side the fast one crossed the slow one, lots how many an amount buys.
-- State is kept a lane; a lane sees the events of its own partition only. It goes over a reload with on_save and on_load.
local cfg = redan.config { fast = 0.2, slow = 0.05, warm = 20 }
local TREND = redan.enum("flat", "up", "down")
local books = {}                                          -- by symbol: { n, fast, slow, above }

local function step(book, mid)
  book.n = book.n + 1
  book.fast = book.fast + cfg.fast * (mid - book.fast)
  book.slow = book.slow + cfg.slow * (mid - book.slow)
  local above = book.fast > book.slow
  local crossed = book.n > cfg.warm and above ~= book.above
  book.above = above
  return not crossed and TREND.flat or above and TREND.up or TREND.down
end

redan.batch("trend(symbol: str(12), bid: float, ask: float) -> enum(flat, up, down)", function(b, out)
  local symbol, bid, ask, value = b.col.symbol, b.col.bid, b.col.ask, out.value
  for i = 0, b.n - 1 do
    local name, mid = symbol[i], (bid[i] + ask[i]) * 0.5
    local book = books[name]
    if not book then
      book = { n = 0, fast = mid, slow = mid, above = false }
      books[name] = book
    end
    value[i] = step(book, mid)
  end
end)

-- dec and int are 64-bit whole numbers: cash in cents, price in hundredths of a cent. Both scaled to the same, and divided without rounding up.
redan.plugin("lots(cash: dec(2), price: dec(4)) -> int", function(cash, price)
  if price <= 0 then return nil end                       -- undefined
  return cash * 100 / price
end)

redan.on_save(function() return books end)
redan.on_load(function(saved) books = saved end)
