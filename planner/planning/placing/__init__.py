"""Who sits where: the servers by name, in their racks, and each unit on its GPUs by quarter."""
