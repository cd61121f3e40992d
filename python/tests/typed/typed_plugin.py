# SPDX-License-Identifier: Apache-2.0
"""What an author writes, for mypy --strict."""
from typing import Annotated

import numpy as np

import redan
from redan import Batch, Bools, Floats, Ints


@redan.plugin(batch=True)                       # called with 1..max_rows rows
def fraud_model(eur: Floats, mcc: Ints, online: Bools, *, slope: float = 0.004) -> Floats:
    z = slope * eur + 0.6 * online + 0.2 * (mcc == 7995) - 2.0
    return 1.0 / (1.0 + np.exp(-z))             # NaN in a row means: undefined


@redan.event                                    # same fields as `event Order` in the rules
class Order:
    account: redan.sym
    qty: int
    px: Annotated[int, redan.dec(4)]            # scaled integer: no hidden rounding


@redan.plugin(batch=True)
def impact(o: Batch[Order]) -> Floats:
    return np.sqrt(np.abs(o["qty"]) / 1e6)


@redan.plugin                                   # scalar: one row at a time
def odd_lot(qty: int, px: Annotated[int, redan.dec(4)]) -> bool | None:
    return None if px == 0 else qty % 100 != 0  # None means: undefined


def use() -> None:
    engine = redan.Engine("")
    decision = engine.judge("Txn", ts=1, eur=1.0)
    verdict: str = decision.verdict
    many: redan.Decisions = engine.judge_many("Txn", {"ts": [1]})
    order = Order(account="a", qty=1, px=2)
    print(verdict, many.counts(), order.qty + 1, redan.dtype(Order), redan.now() + 1)
