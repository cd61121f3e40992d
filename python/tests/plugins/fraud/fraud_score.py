# SPDX-License-Identifier: Apache-2.0
import numpy as np
from fraud_risk import RISKY

import redan
from redan import Bools, Floats, Ints

WEIGHTS = np.frombuffer(redan.data("weights"))
seen = 0


@redan.plugin(batch=True)
def fraud_model(eur: Floats, mcc: Ints, online: Bools, *, slope: float = 0.004) -> Floats:
    z = slope * eur + WEIGHTS[0] * online + WEIGHTS[1] * np.isin(mcc, RISKY) - 2.0
    return 1.0 / (1.0 + np.exp(-z))


@redan.plugin
def label(eur: float, name: str) -> str | None:
    return None if eur < 0 else name[:2]


@redan.on_save
def save():
    return {"seen": seen}


@redan.on_load
def load(state):
    global seen
    seen = state["seen"] + 1
