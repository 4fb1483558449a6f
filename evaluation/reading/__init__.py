"""Is a code read back, and nothing where none was written?"""
