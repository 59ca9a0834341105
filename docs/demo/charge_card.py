"""Charges a card, slowly: one line in the ledger per charge. Running it twice would charge twice."""

import pathlib
import sys
import time

ledger = pathlib.Path(sys.argv[1])
with ledger.open("a", encoding="utf-8") as lines:
    lines.write("charged 10.00\n")
time.sleep(20)
print("receipt printed")
