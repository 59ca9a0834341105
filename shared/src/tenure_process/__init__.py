"""What the processes of Tenure are made of, whatever they do: how one is told its settings, logs, listens,
waits for its database and ends.

`main` puts it together: settings from the environment, a service under signals, an exit code.
"""
