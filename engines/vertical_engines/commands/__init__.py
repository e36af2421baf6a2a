"""One module per command of the command line: reads its input, does the work, writes the termination message, returns the exit code."""
