"""What one node holds: cutting stocks of whole and partial GPUs, and the schedule of runs."""
