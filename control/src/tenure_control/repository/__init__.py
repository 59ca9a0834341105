"""How facts are stored: one package per aggregate, with row types, units of work and their statements."""
