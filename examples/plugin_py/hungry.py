# SPDX-License-Identifier: Apache-2.0
"""Misbehaves on purpose: takes all the memory it can get. It sees MemoryError at its cap; the rest of the machine sees nothing."""
import redan


@redan.plugin
def fraud_model(eur: float, mcc: int, online: bool) -> float:
    blocks = []
    while True:
        blocks.append(bytearray(1 << 16))
