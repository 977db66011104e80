"""Two plans side by side: what differs, what each cause costs, what came of the older."""
