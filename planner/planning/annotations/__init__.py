"""What a reader must be told beside the plan: its jobs, warnings, assumptions and sources."""
