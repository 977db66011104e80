"""What one node holds: cutting stocks of whole GPUs, of parts of GPUs, and of weeks."""
