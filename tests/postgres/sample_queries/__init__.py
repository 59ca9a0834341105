"""Three query files, one good."""
