"""Trainers: one a file, over one shared run loop."""
