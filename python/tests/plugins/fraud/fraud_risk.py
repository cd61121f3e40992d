# SPDX-License-Identifier: Apache-2.0
RISKY = (7995, 4829)
