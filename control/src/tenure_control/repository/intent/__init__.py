"""Cancel intents: on the run, and their copy on the lease."""
