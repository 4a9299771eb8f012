"""The T5 graph autoencoder: rank corrections and values cross, the receiver's model writes the graph.

A guided tour, in reading order. A message is two lines:

    ab cf uz                                   rank corrections, and a check sum
    Mei Kovacs 28236 "Desk Lamp" paypal        the plan's values, verbatim

**Both sides hold the same trained model.** From the values it writes the plan, token by token. The sender runs it first and sees
where its first choice is wrong. Only there the message holds a correction: "after 3 right choices, take the one of rank 2". The
receiver repeats the run with the corrections and has the sender's plan. A better model needs fewer corrections; a worse one
makes the message longer, never the plan wrong.

1. `graph_handoff.linearization` turns a plan into the tokens that the model writes. It is shared with delta.
   `grammar` is the table of what a line may hold; `writer` and `reader` go from a plan to lines of words and back;
   `automaton` says which word may come next. A value that is no word of the vocabulary is lifted out and leaves a slot
   (`memory`). `vocabulary` collects words from the training split and joins frequent runs of them into one token;
   `graph_tokens` puts the two together: `encode_plan`, `decode_plan`, `GraphConstraint`.
2. `target` says what the model rebuilds: the graph (`GraphTarget`), or in the ablation the prose (`TextTarget`). Everything that
   differs between the two is a method of this object.
3. `autoencoder` is the model: T5's encoder reads what is known of the values, its decoder writes tokens. `corrections` is the
   sender's run, `write` the receiver's. Both choose among the tokens that the decoding constraint allows.
4. `rank_correction` writes corrections as words that cost one o200k token each.
5. `protocol` joins these to `encode` and `decode`. The sender decodes its own message before it sends it, and sends the plain
   form where the plan would not arrive.
6. `training.t5` trains the model: `examples` encodes the corpus with the same target, `train` is `handoff train t5`.

docs/t5.md has the reasons and the figures.
"""
