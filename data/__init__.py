"""Trajectories in, labelled corpora out."""
