"""The words in documents, for the decoder. Each file is opened in a process of its own, with bounds on its cost."""
