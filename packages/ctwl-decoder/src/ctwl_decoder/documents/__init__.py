"""Documents: the words of the files that people have, such as PDF, DOCX, mail and archives of these."""
