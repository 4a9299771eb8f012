"""The graph writer: a language model reads the plan in prose and writes the graph."""
