# SPDX-License-Identifier: Apache-2.0
"a string of 4,097 bytes"
print('ruleset golden version 1\n  undefined skip\nevent E { x: int }\nrule r on E { when x > 1 flag A "' + "x" * 4097 + '" }')
