"""The procurement justification: the document that leaves the building."""
