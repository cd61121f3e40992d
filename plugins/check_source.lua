-- SPDX-License-Identifier: Apache-2.0
-- check_source.lua: what `redan plugin check` sees in a Lua author's text. Runs as a plugin itself, confined: it compiles and runs nothing.
--
-- The data file `spec` is one item a line: fn NAME BATCH LINE COL SIGNATURE, config NAME LINE COL, module NAME, manifest PATH, where NAME, source PATH;
-- the sources are `0`, `1`, …. finding() answers one finding a call, "E R4222 file line col text", and an empty text at the end.
local found, at, fns, settings, modules, sources = {}, 0, {}, {}, {}, {}
local manifest, where = "plugin.yaml", "plugin.yaml"

local function say(kind, code, file, line, col, text)
  found[#found + 1] = string.sub(string.format("%s %s %s %d %d %s", kind, code, file, line, col, text), 1, 250)
end

for line in string.gmatch(redan.data("spec"), "[^\n]+") do
  local word, rest = string.match(line, "^(%a+) (.*)$")
  if word == "fn" then
    local name, batch, l, c, signature = string.match(rest, "^(%S+) (%a+) (%d+) (%d+) (.*)$")
    fns[#fns + 1] = { name = name, batch = batch == "true", line = l, col = c, signature = signature }
  elseif word == "config" then
    settings[#settings + 1] = { string.match(rest, "^(%S+) (%d+) (%d+)$") }
  elseif word == "module" then
    modules[rest] = true
  elseif word == "manifest" then
    manifest = rest
  elseif word == "where" then
    where = rest
  elseif word == "source" then
    sources[#sources + 1] = rest
  end
end

-- ---- words of a text, each with its place; comments are left out, and of numbers and signs only that they are there ----
local function long_bracket(text, i)
  local eq = string.match(text, "^%[(=*)%[", i)
  if not eq then return nil end
  local _, stop = string.find(text, "]" .. eq .. "]", i, true)
  return stop or #text, string.sub(text, i + #eq + 2, (stop or #text) - #eq - 2)
end

local function quoted(text, i)
  local quote, k = string.sub(text, i, i), i + 1
  while k <= #text do
    local c = string.sub(text, k, k)
    if c == quote or c == "\n" then return k, string.sub(text, i + 1, k - 1) end
    k = k + (c == "\\" and 2 or 1)
  end
  return #text, string.sub(text, i + 1)
end

local function skip_comment(text, i)
  local stop = long_bracket(text, i + 2)
  return (stop or (string.find(text, "\n", i, true) or #text + 1) - 1) + 1
end

local function words(text)
  local out, i, line, start = {}, 1, 1, 1
  local function count(from, to)
    for k in string.gmatch(string.sub(text, from, to), "()\n") do line, start = line + 1, from + k end
  end
  while i <= #text do
    local c, stop, value, kind = string.sub(text, i, i), i, nil, nil
    if string.find(text, "^%-%-", i) then
      stop = skip_comment(text, i) - 1
    elseif string.find(text, "^[%a_]", i) then
      value = string.match(text, "^[%w_]+", i)
      stop, kind = i + #value - 1, "name"
    elseif c == '"' or c == "'" then
      kind = "text"
      stop, value = quoted(text, i)
    elseif long_bracket(text, i) then
      kind = "text"
      stop, value = long_bracket(text, i)
    elseif not string.find(c, "%s") then
      kind, value = "sign", c
      if string.find(c, "%d") then stop = i + #string.match(text, "^[%w.]+", i) - 1 end
    end
    if kind then out[#out + 1] = { kind = kind, value = value, line = line, col = i - start + 1 } end
    count(i, stop)
    i = stop + 1
  end
  return out
end

-- ---- what is looked for ----
local absent = { io = true, os = true, debug = true, ffi = true, package = true, dofile = true, loadfile = true }
local stated, tunables = {}, {}                           -- tunables.any: a redan.config whose names cannot be read here

-- name . name ( "text"  or  name . name "text"
local function text_after(w, k)
  if w[k] and w[k].value == "(" and w[k].kind == "sign" then k = k + 1 end
  return w[k] and w[k].kind == "text" and w[k] or nil
end

local function signature(file, w, k)
  local t = text_after(w, k + 3)
  local name = t and string.match(t.value, "^%s*([%a_][%w_]*)%s*%(")
  if name then stated[name] = { text = t.value, batch = w[k + 2].value == "batch", file = file, line = t.line, col = t.col } end
end

-- redan . config ( { name = …, … }
local function config(w, k)
  k = k + 3
  if w[k] and w[k].value == "(" then k = k + 1 end
  if not w[k] or w[k].value ~= "{" then
    tunables.any = true
    return
  end
  local depth = 0
  repeat
    local v = w[k].kind == "sign" and w[k].value
    depth = depth + (v == "{" and 1 or v == "}" and -1 or 0)
    if depth == 1 and w[k].kind == "name" and w[k + 1] and w[k + 1].value == "=" then tunables[w[k].value] = true end
    k = k + 1
  until depth == 0 or not w[k]
end

local function look(file, w, k)
  local t, before = w[k], w[k - 1]
  local member = before and before.kind == "sign" and (before.value == "." or before.value == ":")
  if t.kind ~= "name" then return end
  if member then return end
  local next_is = w[k + 1] and w[k + 1].value
  if t.value == "redan" and next_is == "." and w[k + 2] and (w[k + 2].value == "plugin" or w[k + 2].value == "batch") then
    signature(file, w, k)
  elseif t.value == "redan" and next_is == "." and w[k + 2] and w[k + 2].value == "config" then
    config(w, k)
  elseif t.value == "require" then
    local m = text_after(w, k + 1)
    if m and not modules[m.value] then say("E", "R4204", file, m.line, m.col, "module '" .. m.value .. "' is not in plugin.modules of plugin.yaml") end
  elseif absent[t.value] and (next_is == "." or next_is == ":" or next_is == "(") then
    say("W", "R4252", file, t.line, t.col, "'" .. t.value .. "' is not there in a worker")
  elseif t.value == "string" and next_is == "." and w[k + 2] and w[k + 2].value == "dump" then
    say("W", "R4252", file, t.line, t.col, "'string.dump' is not there in a worker")
  end
end

local function bare(signature_text) return (string.gsub(string.gsub(signature_text, "%s", ""), "str%(%d+%)", "sym")) end

for i, file in ipairs(sources) do
  local text = redan.data(tostring(i - 1))
  local chunk, why = load(text, "=x")
  if not chunk then
    local line, what = string.match(why, "^x:(%d+): (.*)$")
    say("E", "R4320", file, tonumber(line) or 1, 1, "SyntaxError: " .. (what or why))
  else
    local w = words(text)
    for k = 1, #w do look(file, w, k) end
  end
end

local broken = #found > 0 and string.find(found[1], "^E R4320")
for _, f in ipairs(broken and {} or fns) do
  local s = stated[f.name]
  if not s then
    say("E", "R4211", manifest, f.line, f.col, f.name .. ": no redan.plugin or redan.batch in the text names it")
  elseif bare(s.text) ~= bare(f.signature) then
    say("E", "R4222", s.file, s.line, s.col, string.format("%s is %s here, %s in %s", f.name, s.text, f.signature, where))
  elseif f.batch and not s.batch then
    say("E", "R4222", s.file, s.line, s.col, f.name .. ": batch is true in plugin.yaml; use redan.batch")
  end
end
for _, c in ipairs(broken and {} or settings) do
  if not tunables[c[1]] and not tunables.any then say("E", "R4203", manifest, c[2], c[3], "config." .. c[1] .. " is no tunable: no redan.config names it") end
end

function finding()
  at = at + 1
  return found[at] or ""
end
