"""Training of the token classifier for LLMLingua-2."""
