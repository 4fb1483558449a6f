"""What do writing and reading cost?"""
