"""Time, concurrency and the outside of the process: queue, controller, watches, probes, metrics, logs."""
