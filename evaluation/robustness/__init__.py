"""What is left of a code after a text was changed?"""
