"""Training of the graph writer: SFT, then GRPO."""
