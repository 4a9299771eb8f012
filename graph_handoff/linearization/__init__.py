"""A plan as words for a model: one grammar, its writer, its reader and its decoding constraint. T5 and delta share it.

- `grammar`: the table of what a line may hold; `production`: what an entry of it is. Everything else follows the table.
- `lines`, `memory`: what a line says, and what earlier lines have named.
- `writer`, `reader`: plan -> lines of words -> plan. `line_text`: words -> short signs, for people and for delta.
- `automaton`, `constraint`: which word, and which token, may come next.
- `value_line`: the values that were lifted out, as text.
- `vocabulary`, `graph_tokens`, `text_tokens`: words -> tokens of a model.
"""
