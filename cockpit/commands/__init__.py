"""The commands of the command line: each prints the same views and runs the same actions as the screens."""
