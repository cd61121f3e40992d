# SPDX-License-Identifier: Apache-2.0
"""Misbehaves on purpose: never answers. The lane goes on with the declared default; the worker is stopped, then replaced."""
import redan


@redan.plugin
def fraud_model(eur: float, mcc: int, online: bool) -> float:
    while True:
        pass
