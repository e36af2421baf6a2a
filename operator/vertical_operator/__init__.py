"""The operator: the API, a pure planner, and the shell that reads and writes the cluster."""
