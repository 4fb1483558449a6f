"""``ctwl-decode serve``: the decoder as a web page and an HTTP API."""
