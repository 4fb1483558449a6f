"""``ctwl-encode audit``: what a server's log of texts shows, and whether a line of it is missing."""
