# SPDX-License-Identifier: Apache-2.0
"""Misbehaves on purpose: opens a socket. The call is denied, and the report says what to do instead."""
import socket

import redan


@redan.plugin
def fraud_model(eur: float, mcc: int, online: bool) -> float:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as s:
        s.connect(("127.0.0.1", 9))
    return 1.0
