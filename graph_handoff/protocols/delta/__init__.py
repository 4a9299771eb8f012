"""The predictive delta: both sides hold a plan library, an edit script is sent.

A guided tour, in reading order. A message names a plan of the library, gives the values, and says what to change:

    ut exchange137 bk sp                       version of the library, name of the prediction, check sum
    Mei Kovacs 28236 "Desk Lamp"               the plan's values, verbatim
    5=return31                                 the edit script: instead of step 5 the step `return31`

1. `graph_handoff.linearization` turns a plan into lines of words with the values lifted out, as it does for T5; `line_text`
   gives the words their short signs and takes a line apart.
2. `plan_library` holds the plans, steps and parts of steps that training plans had, each with a name (`PlanLibrary`); `fit`
   makes one. There is no network.
3. `sequence_diff` finds the cheapest edits between two sequences and applies them.
4. `edit_script` writes such edits as text and reads them (`EditScripts`).
5. `protocol` tries the nearest predictions, sends the shortest message, and decodes it. The sender decodes its own message first.
6. `training.delta` is `handoff train predictor`.

docs/delta.md has the reasons and the figures.
"""
