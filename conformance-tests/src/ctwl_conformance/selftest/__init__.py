"""Does the suite see errors? It runs faulty implementations, and the reference with one constant changed at a time."""
