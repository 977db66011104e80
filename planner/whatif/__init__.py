"""Many plans of one scenario, and what differs between two plans."""
