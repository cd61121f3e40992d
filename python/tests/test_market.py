# SPDX-License-Identifier: Apache-2.0
"""redan.market: files as tables and books; and that every library reads the memory of the chunk itself: by addresses, and by a byte that is
changed under it and seen everywhere. Real files are those of the shared data, where they are."""
import ctypes
import gc
import gzip
import hashlib
import os
import pathlib
import threading

import _redan
import numpy as np
import pytest

import redan
from redan import market

DATA = pathlib.Path(os.environ.get("REDAN_SHARED", pathlib.Path(__file__).resolve().parents[3] / "shared")) / "data"
TEXT = "ts,bid,ask\n1000000000,1.25,1.5\n2000000000,,1.5\n2500000000,,1.75\n3000000000,1.25,\n"


def shared(name):
    p = DATA / name
    if not p.exists():
        pytest.skip(f"no file {name} in the shared data")
    return p


@pytest.fixture
def lobster():
    return market.open(shared("lobster/AAPL_2012-06-21_34200000_37800000_message_50.csv"), tick="0.01", date="2012-06-21", tz="America/New_York",
                       seed=shared("lobster/AAPL_2012-06-21_orderbook_50_first672.csv"))


@pytest.fixture
def small(tmp_path):
    (tmp_path / "EUR.csv").write_text(TEXT)
    return market.open(tmp_path / "EUR.csv", tick="0.25")


@pytest.fixture(autouse=True)
def nothing_left():
    yield
    gc.collect()
    assert _redan.market_live() == 0, "a chunk is held by nobody and was not freed"


def address(a):
    return a.__array_interface__["data"][0]


# ---- golden numbers ----
def test_lobster_states(lobster):
    rows = np.concatenate([np.column_stack([np.asarray(c[k]) for k in ("bid", "bid_qty", "ask", "ask_qty")]) for c in lobster.columns("bbo", chunk=1000)])
    assert lobster.format == "lobster" and lobster.instruments == (market.Instrument("AAPL", "0.01"),)
    assert len(rows) == 23439
    assert hashlib.sha256(rows.tobytes()).hexdigest()[:16] == "55e7a325b0cd131f"


def test_lobster_pairs(lobster):
    c = lobster.columns("ticks").one()
    spread = np.asarray(c["ask"]) - np.asarray(c["bid"])
    assert (len(c), spread.sum()) == (16146, 367404)
    assert c.time()[0] == np.datetime64("2012-06-21T13:30:00.004241176")


def test_lobster_book(lobster):
    book = lobster.book()
    faults = [e.fault for e in book if e.fault]
    assert (faults.count("UNKNOWN_ID"), book.stats["faults"]) == (84, {"UNKNOWN_ID": 84, "OVER_CANCEL": 41})
    best = book.best("AAPL")
    assert (best.bid, best.bid_qty, best.ask, best.ask_qty, best.valid) == (58569, 10, 58595, 100, True)
    assert len(book.levels("bid", 1000)) == 147 and len(book.levels("ask", 1000)) == 128 and book.stats["live_orders"] == 380
    assert book.step() is None


FILES = [("databento/esh4-glbx-mdp3-20231225.mbo.dbn.zst", "dbn", "0.25", {}), ("pitch/pitch_example_data", "pitch", "0.01", {}),
         ("binance/usdm_btcusdt_20240808.gz", "binance", "0.1", {"symbol": "BTCUSDT", "lot": "0.001", "window": 65536, "far": 16384}),
         ("ticks/lean_xauusd_20140501_quote.zip", "csv", "0.00001", {})]


@pytest.mark.parametrize("name, kind, tick, more", FILES)
def test_depth_rows_make_the_book(name, kind, tick, more):
    """What the depth rows leave is what the book holds, level by level, in every format."""
    feed = market.open(shared(name), tick=tick, **more)
    assert feed.format == kind
    have: dict = {}
    table = feed.columns("depth", chunk=777)
    for c in table:
        for i, s, px, q in zip(*(np.asarray(c[k]).tolist() for k in ("instrument", "side", "px", "qty"))):
            if not s:
                have = {k: v for k, v in have.items() if k[0] != i}
            elif q:
                have[i, s, px] = q
            else:
                have.pop((i, s, px), None)
    book = feed.book()
    for _ in book:
        pass
    want = {(i, s, lv.px): lv.qty for i in range(len(book.instruments)) for s in (1, 2) for lv in book.levels(s, 20000, i)}
    assert have == want and len(want) > 1
    assert table.stats["faults"] == book.stats["faults"]


# ---- values ----
def test_absent(small):
    c = small.columns("ticks").one()
    assert np.asarray(c["bid"]).tolist() == [5, 0, 0, 5] and c.valid("bid").tolist() == [True, False, False, True]
    assert c.valid("ts_event").all() and c["bid"].absent() == 2 and "bid" in c and "px" not in c
    np.testing.assert_array_equal(c.price("bid"), [1.25, np.nan, np.nan, 1.25])
    best = small.book()
    assert [e.action for e in best] == ["Q"] * 8 and best.best() == market.Best(5, 1, None, 0, 3000000000, 3000000000, market.VALID | market.NO_ASK, 8)


def test_intervals(small):
    assert [len(c) for c in small.columns("ticks", "1s")] == [3] and [len(c) for c in small.columns("ticks", 10**9)] == [3]
    assert [len(c) for c in small.columns("ticks", "event", chunk=3)] == [1] * 4
    for bad in ("sometimes", "0s", 0, "1 year"):
        with pytest.raises(ValueError, match="on:"):
            small.columns("ticks", bad)


def test_refusals(small, tmp_path):
    with pytest.raises(KeyError):
        small.columns("ticks").one()["px"]
    with pytest.raises(ValueError, match="no table 'candles'"):
        small.columns("candles")
    with pytest.raises(redan.Error, match="rows of a chunk"):
        small.columns("ticks", chunk=1)
    with pytest.raises(redan.Error) as e:
        market.open(tmp_path / "none.csv", tick="1")
    assert e.value.name == "SYS"
    with pytest.raises(redan.Error, match="no tick"):
        market.open(tmp_path / "EUR.csv")
    with pytest.raises(redan.Error, match="no format 'parquet'"):
        market.open(tmp_path / "EUR.csv", format="parquet", tick="1")
    with pytest.raises(ValueError, match="no fault 'UNKNOWN'"):
        market.open(tmp_path / "EUR.csv", tick="1", policies={"UNKNOWN": "drop"})
    with pytest.raises(ValueError, match="no policy 'ignore'"):
        market.open(tmp_path / "EUR.csv", tick="1", policies={"CROSSED": "ignore"})
    (tmp_path / "cut.gz").write_bytes(gzip.compress(TEXT.encode() * 1000)[:-20])
    rows = 0
    with pytest.raises(redan.Error) as e:
        for c in market.open(tmp_path / "cut.gz", tick="0.25", format="csv").columns("events", chunk=64):
            rows += len(c)
    assert e.value.name == "CORRUPT" and rows > 0


@pytest.mark.parametrize("px", [1, -3, 2**33, 2**40 + 1, 2**59, -2**59 - 64, 2**60])
def test_prices_of_any_size(tmp_path, px):
    """A price of so many ticks, and a quantity of so many lots, whatever 64 bits hold of their billionths."""
    e = np.zeros(1, market.EVENT)
    e["action"], e["side"], e["px"], e["qty"] = b"T", 1, px, abs(px)
    (tmp_path / "X.events").write_bytes(e.tobytes())
    for tick, instruments in (("1", None), ("0.01", None), ("1", [market.Instrument("X", "1"), market.Instrument("Y", "0.5")])):
        c = market.open(tmp_path / "X.events", instruments=instruments or [market.Instrument("X", tick)]).columns("trades").one()
        units = {"1": 1, "0.01": 100}[tick]
        assert c.price("px")[0] == px / units and c.quantity("qty")[0] == abs(px), (tick, instruments)


def test_own_events():
    book = market.books([market.Instrument("A", "0.01"), market.Instrument("B", "0.05")])
    e = np.zeros(3, market.EVENT)
    e["action"], e["order_id"], e["side"], e["qty"], e["px"], e["flags"] = b"A", [1, 2, 3], [1, 2, 1], [10, 20, 0], [99, 101, 98], market.LAST
    e["instrument"] = [1, 1, 9]
    assert market.EVENT.itemsize == 64 and market.TICK24.itemsize == 24
    assert list(book.apply(e)) == [0, 0, 9] and book.best("B")[:4] == (99, 10, 101, 20) and book.best("A").bid is None
    assert book.sweep("ask", 30, "B") == (101, 20) and book.id("B") == 1
    for call, error in ((lambda: book.best("C"), KeyError), (lambda: book.best(7), IndexError), (lambda: book.levels("bid", 1, 7), IndexError),
                        (lambda: book.sweep("ask", 0), ValueError), (lambda: book.apply(b"123"), ValueError), (lambda: book.levels("up"), KeyError)):
        with pytest.raises(error):
            call()
    lines = market.books([market.Instrument("A", "0.01")], format="lobster")
    raw, used = lines.decode(b"1.5,1,7,10,990000,1\nnonsense\n2.5,1,8,10,9")
    assert used == 29 and list(lines.apply(raw)) == [0] and lines.best()[:2] == (9900, 10) and lines.stats["faults"] == {"SHORT_INPUT": 1}


def test_wire_ticks():
    t = np.zeros(1000, market.TICK24)
    t["ts"], t["bid"], t["ask"] = np.arange(1000), 1.25, 1.26
    t["bid"][3], t["ask"][4], t["bid"][5] = np.nan, 1.255, 2.0
    ts, bid, ask, faults = market.tick_columns(t, "0.01")
    assert ts[7] == 7 and (bid[7], ask[7]) == (125, 126) and faults.nonzero()[0].tolist() == [3, 4, 5] and faults[3:6].tolist() == [2, 3, 14]
    with pytest.raises(ValueError):
        market.tick_columns(b"12345", "0.01")


def test_threads(lobster):
    """A table may be read by several threads: each row goes to one of them."""
    table, seen = lobster.columns("events", chunk=1000), []

    def work():
        for c in table:
            seen.append(len(c))
            lobster_book.stats
    lobster_book = lobster.book()
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sum(seen) == 92086


# ---- the same memory ----
def test_numpy(small):
    c = small.columns("ticks").one()
    a, b = np.asarray(c["bid"]), np.asarray(c["bid"])
    assert address(a) == address(b) and address(a) % 64 == 0 and not a.flags.writeable and memoryview(c["bid"]).format == "q"
    with pytest.raises(ValueError):
        a[0] = 1
    with pytest.raises(ValueError):
        a.setflags(write=True)
    with pytest.raises((BufferError, TypeError)):
        (ctypes.c_char * 8).from_buffer(c["bid"])
    del c
    assert a.tolist() == [5, 0, 0, 5] and _redan.market_live() == 1     # the view alone holds the chunk
    d = small.columns("bbo", decimal=True).one()
    with pytest.raises(BufferError, match="Arrow"):
        memoryview(d["bid"])


def test_dlpack(small):
    c = small.columns("ticks").one()
    a = np.asarray(c["bid"])
    d = np.from_dlpack(c["bid"])
    assert c["bid"].__dlpack_device__() == (1, 0) and d.tolist() == a.tolist()
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
        assert address(d) == address(a) and not d.flags.writeable
        e = np.from_dlpack(c["bid"], copy=True)
        assert address(e) != address(a) and e.tolist() == a.tolist()
    with pytest.raises(BufferError, match="stream"):
        c["bid"].__dlpack__(stream=1)
    with pytest.raises(BufferError, match="stream"):
        c["bid"].__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="read-only"):
        c["bid"].__dlpack__(copy=False)
    for more in ({}, {"max_version": (1, 0)}, {"max_version": (1, 1), "copy": True}):
        c["bid"].__dlpack__(**more)                      # a capsule that nobody takes frees what it holds
    assert np.from_dlpack(c["flags"] if "flags" in c else c["instrument"]).dtype == np.uint32


def test_pyarrow(small):
    pa = pytest.importorskip("pyarrow")
    c = small.columns("ticks").one()
    a = np.asarray(c["bid"])
    one, batch, schema = pa.array(c["bid"]), pa.record_batch(c), pa.schema(small.columns("ticks"))
    assert one.buffers()[1].address == address(a) == batch.column("bid").buffers()[1].address
    assert one.null_count == 2 and batch.column("ts_event").null_count == 0 and one.to_pylist() == [5, None, None, 5]
    assert schema.field("bid").type == pa.int64() and schema.field("ts_event").type == pa.timestamp("ns", "UTC") and schema.field("bid").nullable
    assert schema.field("bid").metadata == {b"redan.tick": b"0.25"}
    batch.validate(full=True)
    table = pa.table(small.columns("ticks", chunk=4))
    assert table.num_rows == 4 and table.column("bid").num_chunks >= 2 and pa.compute.sum(table["ask"]).as_py() == 19
    dec = pa.table(small.columns("ticks", decimal=True))
    assert str(dec["ask"][0].as_py()) == "1.500000000" and dec["bid"][1].as_py() is None
    del c, one, batch, table, dec
    assert _redan.market_live() == 1 and a.tolist() == [5, 0, 0, 5]
    small.columns("ticks").__arrow_c_stream__()          # dropped unread
    small.columns("ticks").one().__arrow_c_array__()


def changes_with(chunk, look):
    """Whether what `look` reads is the chunk's memory: a value is changed behind everybody's back, and back again."""
    a = np.asarray(chunk["ask"])
    place = ctypes.c_int64.from_address(address(a))
    before, was = look(), place.value
    place.value = 1000 + was
    after = look()
    place.value = was
    return after - before == 1000 and look() == before


def test_polars(lobster):
    pl = pytest.importorskip("polars")
    c = lobster.columns("bbo").one()
    a = np.asarray(c["ask"])
    s = pl.Series(c["ask"])
    assert address(s.to_numpy(allow_copy=False)) == address(a) and s.sum() == a.sum()
    frame = pl.DataFrame(c)
    assert address(frame["ask"].to_numpy(allow_copy=False)) == address(a) and frame.schema["ts_event"] == pl.Datetime("ns", "UTC")
    assert changes_with(c, lambda: int(frame["ask"].sum()))
    assert pl.DataFrame(lobster.columns("bbo")).equals(frame)


def test_pandas(lobster):
    pd = pytest.importorskip("pandas")
    c = lobster.columns("bbo").one()
    s = pd.Series(np.asarray(c["ask"]), copy=False)
    assert address(s.to_numpy()) == address(np.asarray(c["ask"])) and changes_with(c, lambda: int(s.sum()))


def test_duckdb(lobster):
    duckdb = pytest.importorskip("duckdb")
    c = lobster.columns("bbo").one()
    batch = pytest.importorskip("pyarrow").record_batch(c)  # DuckDB scans the record batch in place
    con = duckdb.connect()
    con.register("bbo", batch)
    total = lambda: int(con.execute("select sum(ask) from bbo").fetchone()[0])      # noqa: E731
    assert total() == np.asarray(c["ask"]).sum() and changes_with(c, total)
    stream = lobster.columns("bbo")                      # noqa: F841  found by its name
    assert con.execute("select count(*), sum(ask - bid) from stream").fetchone() == (23439, 509919)
    con.close()


def test_nanoarrow(lobster):
    na = pytest.importorskip("nanoarrow")
    c = lobster.columns("bbo").one()
    a = na.c_array(c["ask"])
    assert a.view().buffer(1).__dlpack_device__() == (1, 0) and a.buffers[1] == address(np.asarray(c["ask"]))


def test_a_copy_is_seen(lobster):
    """The control of changes_with."""
    c = lobster.columns("bbo").one()
    copied = np.array(c["ask"])
    assert not changes_with(c, lambda: int(copied.sum()))


def test_decode_without_events():
    lines = _redan.Market(None, "lobster", (("S", "0.01", "1", 1),), None, 0, None, (), 0, 0, 0, 0)
    assert lines.decode(b"nonsense\n") == ([], 9)                      # a refused message is used up, and gives nothing
    assert lines.decode(b"") == ([], 0)
    events, used = lines.decode(b"nonsense\n1.5,1,7,10,990000,1\nnonsense\n")
    assert [len(e) for e in events] == [64] and used == 38
