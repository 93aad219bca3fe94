"""Agents that work in a sandbox of files, in a Jupyter notebook or as a plain library."""
