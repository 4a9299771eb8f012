"""A plan as words for a model: one grammar, its writer, its reader and its decoding constraint. T5 and delta share it."""
