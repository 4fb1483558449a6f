"""Services around the decoder: a web page and an HTTP API, a page for browsers, and asking a provider's detector."""
