# SPDX-License-Identifier: Apache-2.0
"""FIX 4.4 in libredan beside an independent reader and writer, simplefix: random messages of every type, by the fields of market/fix44.def, both
ways. Skipped by name where it is not installed."""
import ctypes
import datetime
import decimal
import pathlib
import random
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIELDS = [(int(t), kind, name) for t, kind, name in re.findall(r"^FIX\((\d+), *(\w+), *(\w+)", (ROOT / "market/fix44.def").read_text(), re.M)]
TAGS = {name: tag for tag, _, name in FIELDS}
NEEDS = {"D": "cl_ord_id symbol side qty ord_type ts_ns px", "F": "cl_ord_id orig_id symbol side qty ts_ns", "G": "cl_ord_id orig_id symbol side qty ord_type ts_ns px",
         "8": "order_id exec_id exec_type ord_status symbol side leaves_qty cum_qty last_qty last_px", "9": "order_id cl_ord_id orig_id ord_status reject_to"}
CODES = {"side": "1256", "ord_type": "1234", "exec_type": "0458FH", "tif": "01346", "reject_to": "12"}


class Text(ctypes.Structure):
    _fields_ = [("p", ctypes.c_void_p), ("len", ctypes.c_uint32)]


def _members():
    """Of struct redan_fix, as market.h has them."""
    body = re.search(r"typedef struct redan_fix \{(.*?)\} redan_fix;", (ROOT / "include/redan/market.h").read_text(), re.S)[1]
    types = {"char": ctypes.c_char, "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64, "int64_t": ctypes.c_int64, "redan_fix_text": Text}
    for kind, names in re.findall(r"^\s*(\w+)\s+([\w, \n]+);", re.sub(r"/\*.*?\*/", "", body, flags=re.S), re.M):
        yield from ((n.strip(), types[kind]) for n in names.split(","))


class Fix(ctypes.Structure):
    _fields_ = list(_members())


@pytest.fixture(scope="module")
def lib():
    dll = ctypes.CDLL("libredan.so")
    dll.redan_fix_encode.restype = ctypes.c_size_t
    dll.redan_fix_reason.restype = ctypes.c_char_p
    return dll


def decode(lib, data):
    """(fault, what it says, bytes used)"""
    m, used = Fix(), ctypes.c_size_t()
    fault = lib.redan_fix_decode(data, ctypes.c_size_t(len(data)), ctypes.byref(m), ctypes.byref(used))
    return fault, m, used.value


def message(rng):
    """(type, {name: value}); amounts and times in 10^-9."""
    kind = rng.choice("DFG89")
    out = {}
    for _, what, name in FIELDS:
        if name in NEEDS[kind].split() or rng.random() < 0.3:
            if what == "CODE":
                out[name] = rng.choice(CODES.get(name, "0123456789ABCDEF"))
            elif what == "TEXT":
                out[name] = "".join(rng.choice("ABCxyz019-_.=/ |é") for _ in range(rng.randrange(1, 20))).strip() or "x"
            elif what == "UINT":
                out[name] = rng.choice([1, 9, 99, rng.randrange(1, 10**12)])
            elif what == "DECIMAL":
                out[name] = rng.choice([1, 10**9, 100 * 10**9, 585_330_000_000, rng.randrange(1, 10**18), 10**rng.randrange(18)])
            else:
                out[name] = rng.randrange(946684800, 4102444800) * 10**9 + rng.choice([0, 123_000_000, 123_456_000, 123_456_789])
    return kind, out


def text_of(what, v, rng):
    """As other programs write it: zeros behind the point, fractions of other lengths."""
    if what == "DECIMAL":
        plain = f"{decimal.Decimal(v).scaleb(-9):f}"
        return (plain.rstrip("0").rstrip(".") if "." in plain else plain) if rng.random() < 0.7 else plain
    if what == "TIME":
        whole = datetime.datetime.fromtimestamp(v // 10**9, datetime.timezone.utc).strftime("%Y%m%d-%H:%M:%S")
        digits = f"{v % 10**9:09}"
        return whole + ("" if v % 10**9 == 0 else "." + (digits[:3] if digits.endswith("000000") else digits))
    return str(v)


def number_of(what, text):
    """And back."""
    if what == "DECIMAL":
        return int(decimal.Decimal(text).scaleb(9))
    if what == "TIME":
        whole, _, digits = text.partition(".")
        return int(datetime.datetime.strptime(whole + "+0000", "%Y%m%d-%H:%M:%S%z").timestamp()) * 10**9 + int(digits.ljust(9, "0"))
    return int(text) if what == "UINT" else text


def value_of(m, what, name):
    v = getattr(m, name)
    return ctypes.string_at(v.p, v.len).decode() if what == "TEXT" else v.decode() if what == "CODE" else v


def written(lib, kind, values):
    m, keep = Fix(), []
    m.type = kind.encode()
    for _, what, name in FIELDS:
        if name in values and what == "TEXT":
            keep.append(ctypes.create_string_buffer(values[name].encode()))
            setattr(m, name, Text(ctypes.addressof(keep[-1]), len(keep[-1]) - 1))
        elif name in values:
            setattr(m, name, values[name].encode() if what == "CODE" else values[name])
    lib.redan_fix_fill(ctypes.byref(m))
    out = ctypes.create_string_buffer(4096)
    n = lib.redan_fix_encode(ctypes.byref(m), out, ctypes.c_size_t(4096))
    assert n, (kind, values)
    return out.raw[:n]


def test_what_simplefix_writes(lib):
    simplefix = pytest.importorskip("simplefix")
    rng = random.Random(1)
    for _ in range(3000):
        kind, values = message(rng)
        s = simplefix.FixMessage()
        s.append_pair(8, "FIX.4.4")
        s.append_pair(35, kind)
        order = [f for f in FIELDS if f[2] in values]
        rng.shuffle(order)
        for tag, what, name in order:
            s.append_pair(tag, text_of(what, values[name], rng))
            if rng.random() < 0.1:
                s.append_pair(5000 + tag, "not ours")
        data = s.encode()
        fault, m, used = decode(lib, data)
        assert fault == 0 and used == len(data), (lib.redan_fix_reason(m.bad), m.bad_tag, data)
        assert m.type.decode() == kind and {n: value_of(m, w, n) for i, (_, w, n) in enumerate(FIELDS) if m.has >> i & 1} == values, data


def test_what_simplefix_reads(lib):
    simplefix = pytest.importorskip("simplefix")
    rng = random.Random(2)
    for _ in range(3000):
        kind, values = message(rng)
        data = written(lib, kind, values)
        parser = simplefix.FixParser()
        parser.append_buffer(data)
        s = parser.get_message()
        assert s is not None and parser.get_message() is None and s.encode() == data, data     # its own length and checksum
        got = {int(t): v.decode() for t, v in s.pairs if int(t) not in (8, 9, 10, 35)}
        assert {n: number_of(w, got.pop(TAGS[n])) for _, w, n in FIELDS if n in values} == values and not got, data
