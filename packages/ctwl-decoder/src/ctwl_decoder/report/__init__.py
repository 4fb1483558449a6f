"""What was found, as data, words, a terminal page and an HTML page."""
