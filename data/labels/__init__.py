"""Labels: from what happened to a typed graph."""
