"""Drawings of graphs: layers from top to bottom in the order of running."""
