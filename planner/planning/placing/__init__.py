"""Placement: named nodes in their racks, and each unit on its GPUs by quarter."""
