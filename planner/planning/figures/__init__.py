"""What a placed plan comes to: its costs and who bears them, budgets, sites and use."""
