"""What only shows when a scenario is seen whole, and beside the catalog and the rules."""
