# SPDX-License-Identifier: Apache-2.0
"""embed.py OUT NAME=FILE ...: files as C arrays of bytes, so that a worker needs no file system."""
import sys

with open(sys.argv[1], "w") as out:
    for item in sys.argv[2:]:
        name, _, path = item.partition("=")
        data = open(path, "rb").read() + b"\0"
        rows = [",".join(map(str, data[i:i + 32])) for i in range(0, len(data), 32)]
        out.write(f"static const char {name}[] = {{\n" + ",\n".join(rows) + "\n};\n")
