"""`ctwl-encode plan`: which strategy suits a model and its sampling, measured on that model."""
