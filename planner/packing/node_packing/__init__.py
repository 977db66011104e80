"""What one node holds: cutting stocks of whole GPUs, and of parts of GPUs; and when runs are."""
