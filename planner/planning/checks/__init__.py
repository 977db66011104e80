"""The parts of the independent check; nothing here knows how a plan was found."""
