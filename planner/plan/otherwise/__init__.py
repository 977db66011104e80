"""The same portfolio solved again, with something else given: what that would cost or allow."""
