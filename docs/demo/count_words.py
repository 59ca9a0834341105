"""Counts the words of every text file below a folder."""

import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
total = 0
for file in sorted(folder.rglob("*.md")):
    words = len(file.read_text(encoding="utf-8").split())
    total += words
    print(f"{words:8}  {file}")
print(f"{total:8}  in all")
