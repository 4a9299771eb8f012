"""Environments: real tools over a real database, behind one small interface."""
