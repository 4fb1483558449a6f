"""Marks inside engines of others: transformers. Serving engines are in rooms/ctwl-engines."""
