"""Who may do what, and who did what: operators, their tokens and roles, and the security audit."""
