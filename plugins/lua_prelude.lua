-- SPDX-License-Identifier: Apache-2.0
-- lua_prelude.lua: what an author's text finds in a Lua worker, and the loops that call it. Runs once, before that text.
--
-- The chunk gets (host, ffi, buffer): host is lua_host.c's table. It answers the functions that lua_call.c keeps. Columns are pointers
-- into the request page, made once: a call changes nothing but the number of rows, so that compiled code stays valid.
-- Everything that is called later is a local here: the author may change any table he can reach. His text never gets `ffi`; that is
-- for tidiness, because a pointer has no bounds. What holds him is the process.
local host, ffi, buffer = ...
local type, pairs, ipairs, error, tostring, tonumber, select = type, pairs, ipairs, error, tostring, tonumber, select
local load, xpcall, pcall, unpack = load, xpcall, pcall, unpack
local format, find, match, byte, char, sub, gsub = string.format, string.find, string.match, string.byte, string.char, string.sub, string.gsub
local concat, sort, floor = table.concat, table.sort, math.floor
local band, bor, bxor, lshift, rshift = bit.band, bit.bor, bit.bxor, bit.lshift, bit.rshift
local cast, istype, typeof, metatype, offsetof, copy, text_of = ffi.cast, ffi.istype, ffi.typeof, ffi.metatype, ffi.offsetof, ffi.copy, ffi.string
local int64, uint64 = typeof("int64_t"), typeof("uint64_t")
local jit_attach = jit.attach

-- ---- columns ----
local scalar = { bool = "bool", int = "int64_t", float = "double", dec = "int64_t", time = "int64_t", dur = "int64_t", date = "int32_t", enum = "uint8_t",
                 sym = "uint32_t" }

local function array_shape(t)
  return t.cols > 1 and format("[%d][%d]", t.rows, t.cols) or format("[%d]", t.rows)
end

local function text_at(p, width)
  local n = 0
  while n < width and p[n] ~= 0 do n = n + 1 end
  return text_of(p, n)
end

local function text_column(at, width)
  local function get(c, i)
    if type(i) ~= "number" then error("a column takes the number of a row", 2) end
    return text_at(c.p + i * width, width)
  end
  return metatype(typeof("struct { const char *p; }"), { __index = get })(cast("const char *", at))
end

-- A field that is not always there, a text, and a name that C has taken come out of a function; all others are members. Which names it
-- has taken its parser knows: words of the language, of its dialects, and types.
local function free_in_c(name)
  local good, made = pcall(typeof, "struct { double " .. name .. "; }")
  return good and offsetof(made, name) == 0
end

local function getter(f, member, present)
  local value = function(o) return o[member] end
  if f.type.kind == "str" then
    local width = f.type.width
    value = function(o) return text_at(o[member], width) end
  end
  if f.bit < 0 then return value end
  local mask = lshift(1ULL, f.bit)
  return function(o)
    if band(o[present], mask) ~= 0ULL then return value(o) end
  end
end

-- What no field's name begins with: members that are made here have names of their own.
local function own_prefix(fields)
  local own = "_"
  for _, f in ipairs(fields) do
    while find(f.name, own, 1, true) == 1 do own = own .. "_" end
  end
  return own
end

local function members(t, own)
  local rows, optional = { { "int64_t ts;", 0, 8 } }, false
  for i, f in ipairs(t.fields) do
    local kind, bare = f.type.kind, f.bit < 0 and f.type.kind ~= "str" and free_in_c(f.name)
    local name = bare and f.name or own .. "field" .. i
    local decl = kind == "str" and format("char %s[%d];", name, f.type.width) or
                 f.type.rows and format("%s %s%s;", kind == "int[]" and "int64_t" or "double", name, array_shape(f.type)) or format("%s %s;", scalar[kind], name)
    rows[#rows + 1] = { decl, f.offset, f.type.width, name, not bare and f }
    optional = optional or f.bit >= 0
  end
  if optional then rows[#rows + 1] = { "uint64_t " .. own .. "present;", 8, 8 } end
  sort(rows, function(a, b) return a[2] < b[2] end)
  return rows
end

local function event_type(t)
  local text, at, get, own = {}, 0, {}, own_prefix(t.fields)
  for i, r in ipairs(members(t, own)) do
    if r[2] > at then text[#text + 1] = format("uint8_t %sgap%d[%d];", own, i, r[2] - at) end
    text[#text + 1] = r[1]
    at = r[2] + r[3]
    if r[5] then get[r[5].name] = getter(r[5], r[4], own .. "present") end
  end
  if t.width > at then text[#text + 1] = format("uint8_t %send[%d];", own, t.width - at) end
  local made = typeof("struct { " .. concat(text) .. " }")
  for _, f in ipairs(t.fields) do
    if not get[f.name] and offsetof(made, f.name) ~= f.offset then error(format("field %s of %s is not where the host has it", f.name, t.event)) end
  end
  return metatype(made, { __index = function(o, name)
    local g = get[name]
    if g then return g(o) end
    error(format("event %s has no field '%s'", t.event, tostring(name)), 2)
  end })
end

local event_types = {}
local function column(t, at)
  if t.kind == "str" then return text_column(at, t.width) end
  if t.kind == "event" then
    local made = event_types[t.event] or event_type(t)
    event_types[t.event] = made
    return cast(typeof("const $ *", made), at)
  end
  if t.rows then return cast(typeof((t.kind == "int[]" and "const int64_t (*)" or "const double (*)") .. array_shape(t)), at) end
  return cast("const " .. scalar[t.kind] .. " *", at)
end

-- ---- answers ----
local function names_of(list)
  local out = {}
  for i, name in ipairs(list) do out[name] = i - 1 end
  return out
end

-- The whole number, or nil: a number loses no digit below 2^53, and beyond it nobody can say what it was.
local function whole(v)
  if type(v) == "number" then
    if v >= -9007199254740992 and v <= 9007199254740992 and v == floor(v) then return v end
  elseif istype(int64, v) then
    return v
  elseif istype(uint64, v) and v <= 0x7fffffffffffffffULL then
    return cast(int64, v)
  end
end

local function put_text(value, width)
  return function(i, v)
    if type(v) ~= "string" or #v > width or find(v, "\0", 1, true) then return false end
    copy(value + i * width, v, #v)
    return true
  end
end

local function put_enum(value, list)
  local index, n = names_of(list), #list
  return function(i, v)
    local k = type(v) == "string" and index[v] or type(v) == "number" and whole(v)
    if not k or k < 0 or k >= n then return false end
    value[i] = k
    return true
  end
end

local put = {}                                            -- by kind: a function (row, answer) that is false when the answer is none
put.float = function(value)
  return function(i, v)
    if type(v) ~= "number" and not istype(int64, v) then return false end
    value[i] = tonumber(v)
    return true
  end
end
put.bool = function(value)
  return function(i, v)
    if type(v) ~= "boolean" then return false end
    value[i] = v
    return true
  end
end
put.date = function(value)
  return function(i, v)
    v = whole(v)
    if not v or v < -2147483648 or v > 2147483647 then return false end
    value[i] = tonumber(v)
    return true
  end
end
put.int = function(value)
  return function(i, v)
    v = whole(v)
    if not v then return false end
    value[i] = v
    return true
  end
end
put.dec, put.time, put.dur = put.int, put.int, put.int

local function putter(t, value)
  if t.kind == "str" then return put_text(cast("char *", value), t.width) end
  if t.kind == "enum" then return put_enum(cast("uint8_t *", value), t.names) end
  return put[t.kind](cast(scalar[t.kind] .. " *", value))
end

-- A report of `sandbox try`: any answer as text, cut to what fits.
local function report(value, width)
  value = cast("char *", value)
  return function(i, v)
    v = sub(gsub(tostring(v), "%z", "?"), 1, width)
    copy(value + i * width, v, #v)
    return true
  end
end

local function answers(t, value, fn)
  if t.kind ~= "str" then return cast(scalar[t.kind] .. " *", value) end
  value = cast("char *", value)
  local store = put_text(value, t.width)
  return metatype(typeof("struct { char *p; }"), { __newindex = function(_, i, v)
    if not store(i, v) then error(format("%s: text of at most %d bytes expected", fn.name, t.width), 2) end
  end })(value)
end

-- ---- the loops ----
local function loop_of(fn, call, status, store)
  local names, cols = {}, {}
  for i, p in ipairs(fn.params) do
    names[i] = "p" .. i
    cols[i] = column(p.type, p.at)
  end
  local list = concat(names, ",")
  local text = format([[local call, xpcall, handler, status, store, bad, failed%s = ...
return function(n)
  for i = 0, n - 1 do
    local ok, v = xpcall(call, handler%s)
    if not ok then
      if failed(i, v) then return end
    elseif v == nil then
      status[i] = 1
    elseif not store(i, v) then
      bad(i, v)
    end
  end
end]], list == "" and "" or "," .. list, list == "" and "" or "," .. gsub(list, "p%d+", "%0[i]"))
  local want = fn.ret.kind == "str" and format("text of at most %d bytes", fn.ret.width) or "a value of type " .. fn.ret.kind
  local function bad(i, v) host.bad(i, format("%s returned %s in row %d, expected %s", fn.name, type(v) == "cdata" and tostring(v) or type(v), i, want)) end
  return load(text, "=redan")(call, xpcall, host.handler, status, store, bad, host.failed, unpack(cols))
end

local function batch_of(fn, call, status)
  local b, out = { n = 0, col = {} }, { value = answers(fn.ret, host.values, fn), status = status }
  for _, p in ipairs(fn.params) do b.col[p.name] = column(p.type, p.at) end
  return function(n)
    b.n = n
    call(b, out)
  end
end

-- ---- what the author calls ----
local stated, redan, settings, used, hooks = {}, {}, {}, {}, {}

local function state(what, signature, call, batch)
  if type(signature) ~= "string" or type(call) ~= "function" then error(format('%s("NAME(…) -> TYPE", function) expected', what), 3) end
  local name = match(signature, "^%s*([%a_][%w_]*)%s*%(")
  if not name then error(format("no signature: '%s'", signature), 3) end
  if stated[name] then error(format("function '%s' stands twice", name), 3) end
  stated[name] = { signature = signature, call = call, batch = batch }
  return call
end
function redan.plugin(signature, call) return state("redan.plugin", signature, call, false) end
function redan.batch(signature, call) return state("redan.batch", signature, call, true) end

function redan.config(defaults)
  local out = {}
  if type(defaults) ~= "table" then error("redan.config({ name = default, … }) expected", 2) end
  for name, v in pairs(defaults) do
    local given = settings[name]
    used[name] = true
    if given ~= nil and istype(int64, v) and whole(given) then given = int64(given) end
    if given ~= nil and type(given) ~= type(v) then error(format("R4203 config.%s is a %s, the tunable a %s", name, type(given), type(v)), 2) end
    if given == nil then out[name] = v else out[name] = given end
  end
  return out
end

function redan.enum(...)
  local out = names_of({ ... })
  for i = 1, select("#", ...) do out[i - 1] = select(i, ...) end
  return out
end

local element = { float = "double", int = "int64_t", byte = "uint8_t" }
function redan.data(name, kind)
  local at, n = host.data(name)
  if not at then error(format("no data file '%s' in the plugin", tostring(name)), 2) end
  if kind == nil then return text_of(cast("const char *", at), n) end
  if not element[kind] then error("redan.data(name, kind): kind is float, int or byte", 2) end
  return cast("const " .. element[kind] .. " *", at), floor(n / ffi.sizeof(element[kind]))
end

local now = cast("const int64_t *", host.now)
function redan.now() return now[0] end
function redan.on_save(f) hooks.save = f end
function redan.on_load(f) hooks.load = f end

function print(...)
  local out = {}
  for i = 1, select("#", ...) do out[i] = tostring((select(i, ...))) end
  host.log(concat(out, "\t") .. "\n")
end

local loaded = {}
function require(name)
  if loaded[name] ~= nil then return loaded[name] end
  local file = tostring(name) .. ".lua"
  local text = host.module(file)
  if not text then error(format("R4204 module '%s' is not in this plugin (plugin.modules)", tostring(name)), 2) end
  local chunk, why = load(text, "@" .. file, "t")
  if not chunk then error(why, 0) end
  loaded[name] = true
  local got = chunk(name)
  if got ~= nil then loaded[name] = got end
  return loaded[name]
end

function _G.load(chunk, name, _, ...)                     -- text only: nobody checks byte code
  return load(chunk, name, "t", ...)
end
loadstring = _G.load
dofile, loadfile, string.dump = nil, nil, nil
jit = { on = jit.on, off = jit.off, status = jit.status, version = jit.version, arch = jit.arch, os = jit.os }

-- ---- random numbers: Philox4x32-10 by counter, the same on every build; 53 bits from two words ----
local key0, key1, counter, second = 0ULL, 0ULL, 0ULL, nil
local function reseed(low, high)
  key0, key1, counter, second = uint64(low), uint64(high), 0ULL, nil
end

local function unit(high, low) return tonumber(rshift(bor(lshift(high, 32), low), 11)) * 0x1p-53 end
local function random()
  if second then
    local u = second
    second = nil
    return u
  end
  local c0, c1, c2, c3, k0, k1 = band(counter, 0xffffffffULL), rshift(counter, 32), 0ULL, 0ULL, key0, key1
  for _ = 1, 10 do
    local p0, p1 = 0xd2511f53ULL * c0, 0xcd9e8d57ULL * c2
    c0, c1, c2, c3 = bxor(rshift(p1, 32), c1, k0), band(p1, 0xffffffffULL), bxor(rshift(p0, 32), c3, k1), band(p0, 0xffffffffULL)
    k0, k1 = band(k0 + 0x9e3779b9ULL, 0xffffffffULL), band(k1 + 0xbb67ae85ULL, 0xffffffffULL)
  end
  counter = counter + 1ULL
  second = unit(c2, c3)
  return unit(c0, c1)
end

function math.random(low, high)
  local u = random()
  if low == nil then return u end
  if high == nil then low, high = 1, low end
  if low > high then error("math.random: the interval is empty", 2) end
  return floor(u * (high - low + 1)) + low
end
function math.randomseed(x)
  x = tonumber(x) or 0
  reseed(x % 4294967296, floor(x / 4294967296) % 4294967296)
end
reseed(host.seed_low, host.seed_high)

-- ---- the manifest's config: {"name": value, …} as the host wrote it ----
local function json_text(s, at)
  local out = {}
  while true do
    local plain, stop = match(s, '^([^"\\]*)()', at)
    out[#out + 1] = plain
    if byte(s, stop) == 34 then return concat(out), stop + 1 end
    local hex = match(s, "^\\u00(%x%x)", stop)
    out[#out + 1] = hex and char(tonumber(hex, 16)) or sub(s, stop + 1, stop + 1)
    at = stop + (hex and 6 or 2)
  end
end

-- A whole number beyond 2^53 stays what it is.
local function json_number(word)
  local v = tonumber(word)
  if find(word, "^-?%d+$") and (v > 9007199254740992 or v < -9007199254740992) then return load("return " .. word .. "LL", "=redan")() end
  return v
end

local function read_config(s)
  local at = find(s, '"', 1, true)
  while at do
    local name, value
    name, at = json_text(s, at + 1)
    at = find(s, "[^: ]", at)
    if byte(s, at) == 34 then
      value, at = json_text(s, at + 1)
    else
      local word = match(s, "^[^,}]+", at)
      at = at + #word
      if word == "true" or word == "false" then value = word == "true" else value = json_number(word) end
    end
    settings[name] = value
    at = find(s, '"', at, true)
  end
end
read_config(host.config)

-- ---- the plugin ----
if host.plain then
  W_ADDR, W_FFI = host.values, ffi                         -- for payloads: what an author would have who broke out of the language
end
_G.redan = redan

local function bind()
  local runs, status = {}, cast("uint8_t *", host.status)
  for k, fn in ipairs(host.fns) do
    local s = stated[fn.name]
    if host.plain then
      if type(_G[fn.name]) ~= "function" then return format("no function '%s'", fn.name), "LookupError" end
      runs[k] = loop_of(fn, _G[fn.name], status, report(host.values, fn.ret.width))
    else
      if not s then return format("no function '%s' with redan.plugin or redan.batch", fn.name), "LookupError" end
      local same, expected = host.same_signature(k, s.signature)
      if not same then return format("the plugin has %s, the rules %s", s.signature, expected), "SignatureError" end
      runs[k] = s.batch and batch_of(fn, s.call, status) or loop_of(fn, s.call, status, putter(fn.ret, host.values))
    end
  end
  for name in pairs(settings) do
    if not used[name] then return format("R4203 config.%s is no tunable of the plugin: no redan.config names it", name), "LookupError" end
  end
  return runs
end

-- State over a reload: a mark, then text, or a table of numbers, texts, booleans and tables of them.
local function save()
  if not hooks.save then return nil end
  local s = hooks.save()
  if type(s) == "string" then return "b" .. s end
  if type(s) ~= "table" then error(format("on_save answers a table or a string, not a %s", type(s))) end
  return "t" .. buffer.encode(s)
end

local function restore(s)
  if not hooks.load then error("the old text has on_save, this one has no on_load") end
  hooks.load(sub(s, 1, 1) == "t" and buffer.decode(sub(s, 2)) or sub(s, 2))
end

jit_attach(function(what)
  if what == "flush" then host.flushed() end
end, "trace")
return bind, save, restore
