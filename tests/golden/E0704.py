# SPDX-License-Identifier: Apache-2.0
"a file of more than 8 MiB"
print("ruleset golden version 1\n  undefined skip\nevent E { x: int }\n" + "# filler\n" * (1 << 20))
