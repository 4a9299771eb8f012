"""The predictive delta: both sides hold a plan library, an edit script crosses."""
