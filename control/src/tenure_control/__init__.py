"""Control: the process that decides. See `app` for what runs, `decision` for what should happen."""
