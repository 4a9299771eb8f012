"""Trainers: one folder per family, over one shared run loop."""
