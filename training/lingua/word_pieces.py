"""A WordPiece vocabulary of the training texts, the same one in every process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def train_word_pieces(
    texts: Sequence[str], size: int, *, lowercase: bool, max_tokens: int | None = None
) -> PreTrainedTokenizerFast:
    """A BERT tokenizer with at most `size` tokens; `lowercase` also strips accents; texts are cut at `max_tokens` where asked."""
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertTokenizerFast

    pieces = BertWordPieceTokenizer(lowercase=lowercase, strip_accents=lowercase)
    # The trainer breaks ties by a token's number, and numbers letters in the order of a hash map, which is another one in each
    # process. With the letters given as its first tokens, the same texts give the same vocabulary.
    letters = sorted({letter for text in texts for letter in pieces.normalize(text) if not letter.isspace()})
    pieces.train_from_iterator(
        texts,
        vocab_size=size,
        min_frequency=2,
        special_tokens=[*SPECIAL, *letters, *(f"##{letter}" for letter in letters)],
        limit_alphabet=len(letters),
        show_progress=False,
    )
    ids = pieces.get_vocab()
    options = {} if max_tokens is None else {"model_max_length": max_tokens}
    return BertTokenizerFast(
        vocab={token: ids[token] for token in sorted(ids, key=ids.__getitem__)},
        do_lower_case=lowercase,
        strip_accents=lowercase,
        **options,
    )
