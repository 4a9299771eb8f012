"""Handoff: the run-time library. Graphs, codecs, delegations and protocols; nothing heavy at import."""

__version__ = "0.1.0"
