"""Many plans side by side: what differs between two of them, and why."""
