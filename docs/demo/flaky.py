"""Fails with exit code 75 the first time it is given a marker file, and succeeds from then on."""

import pathlib
import sys

marker = pathlib.Path(sys.argv[1])
if not marker.exists():
    marker.touch()
    print("the service is not there yet", file=sys.stderr)
    sys.exit(75)
print("the service answered")
