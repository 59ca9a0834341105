"""Counts the words of every file below a folder."""

import pathlib
import sys

total = 0
for file in sorted(pathlib.Path(sys.argv[1]).rglob("*.*")):
    words = len(file.read_text(encoding="utf-8").split())
    total += words
    print(f"{words:8}  {file}")
print(f"{total} words in all")
