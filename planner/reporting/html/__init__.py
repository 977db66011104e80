"""HTML in one file that needs no network: page, style, script and pictures."""
