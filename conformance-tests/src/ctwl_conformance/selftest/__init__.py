"""Does the suite see what is broken? Faulty implementations, and the reference with one constant changed at a time."""
