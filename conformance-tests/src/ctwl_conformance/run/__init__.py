"""Run the suite against adapters: what is asked, what counts, and the report."""
