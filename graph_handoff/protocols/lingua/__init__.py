"""LLMLingua-2 on the prose plan, and the hybrid of verbatim calls and compressed request."""
