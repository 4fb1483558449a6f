"""`ctwl-decode page`: a web page that reads texts in the browser, by the light scores, and needs no server."""
