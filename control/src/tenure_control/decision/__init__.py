"""What is decided: pure functions, facts in, decision out. How facts are read is elsewhere."""
