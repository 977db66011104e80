"""The parts of the independent check. Nothing here knows how a plan was found."""
