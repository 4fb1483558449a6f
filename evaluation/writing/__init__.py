"""What does marking do to the texts, and how should a provider mark?"""
