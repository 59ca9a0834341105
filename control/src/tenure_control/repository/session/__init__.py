"""Sessions of workers, as far as an operator may change them: a drain can be asked for."""
