"""Fitting of the plan library that a predictive delta corrects."""
