# SPDX-License-Identifier: Apache-2.0
"32,769 declarations"
print("ruleset golden version 1\n  undefined skip\nevent E { x: int }\n" + "\n".join(f"param p{i}: int = {i}" for i in range(32_768)))
