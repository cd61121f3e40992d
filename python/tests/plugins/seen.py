# SPDX-License-Identifier: Apache-2.0
"""What arguments look like from inside, told as text: scalars, columns, an event."""
from typing import Annotated, Any

import redan

kept = []
TOLD = Annotated[str, redan.text(255)]


@redan.event
class Order:
    account: redan.sym
    qty: int
    px: Annotated[int, redan.dec(4)]
    note: Annotated[str, redan.text(5)] | None
    side: Annotated[int, redan.enum("buy", "sell")]
    day: redan.date
    hot: bool
    m: Annotated[Any, redan.floats(2, 2)]


def tell(x):
    return f"{type(x).__name__}:{x!r}"


def tell_array(x):
    return f"{x.dtype.str} {x.shape} {x.flags.writeable} {x.tolist()!r}"[:255]


@redan.plugin
def scalars(b: bool, i: int, f: float, d: Annotated[int, redan.dec(2)], t: redan.time) -> TOLD:
    return " ".join(map(tell, (b, i, f, d, t)))


@redan.plugin
def more(day: redan.date, side: Annotated[int, redan.enum("buy", "sell")], s: str, short: Annotated[str, redan.text(4)]) -> TOLD:
    return " ".join((tell(day), type(side).__name__, tell(int(side)), side.name, tell(s), tell(short)))


@redan.plugin
def arrays(v: Annotated[Any, redan.ints(3)], m: Annotated[Any, redan.floats(2, 2)]) -> TOLD:
    return tell(v) + tell(m)


@redan.plugin(batch=True)
def columns(b: redan.Bools, i: redan.Ints, f: redan.Floats) -> TOLD:
    return [tell_array(b) + tell_array(i) + tell_array(f)] * len(b)


@redan.plugin(batch=True)
def more_columns(day: redan.date, side: Annotated[Any, redan.enum("buy", "sell")], s: redan.Texts, m: Annotated[Any, redan.floats(2, 2)]) -> TOLD:
    return [tell_array(day) + tell_array(side) + s.dtype.str + repr(s.tolist()) + tell_array(m)] * len(s)


@redan.plugin
def cursor(o: Order) -> TOLD:
    kept.append(o)
    return " ".join(map(tell, (o.qty, o.px, o.note, int(o.side), o.side.name, o.day, o.hot, o.m, o.ts)))


@redan.plugin
def late(o: Order) -> TOLD:
    kept.append(o)
    try:
        return tell(kept[0].qty) if len(kept) > 1 else "first"
    except RuntimeError as e:
        return str(e)


@redan.plugin
def no_field(o: Order) -> TOLD:
    return o.nothing


@redan.plugin(batch=True)
def view(o: redan.Batch[Order]) -> redan.Ints:
    try:
        o["qty"][0] = 1
        return o["qty"] * 0
    except ValueError:
        return o["qty"] + o["px"] + o["side"]


@redan.plugin
def clock(i: int) -> int:
    return redan.now()


@redan.plugin
def fails(i: int) -> float:
    return 10 / i


@redan.plugin
def all_of_it(i: int) -> int:
    if i == 3:
        raise MemoryError
    return i


@redan.plugin
def leaves(i: int) -> int:
    raise SystemExit(3)
