"""A local page that shows the plans of a folder, compares them, and asks what if."""
