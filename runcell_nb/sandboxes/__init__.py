"""Sandbox backends, one module each, and the directory workspace that they share."""
