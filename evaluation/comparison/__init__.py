"""How does the watermark compare with others, and with other parameters?"""
