"""The judge: the question that is put to it, and the answer that is taken from it."""
