"""Handlers whose steps keep their results."""
