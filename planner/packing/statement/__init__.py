"""From settled inputs and sized jobs to the packing problem."""
