"""What is decided, apart from how facts are read and effects are written: pure functions, facts in, decision out."""
