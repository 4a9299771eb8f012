"""The prose baseline: a plan in words, and the rule-based reader that looks for a plan in words."""
