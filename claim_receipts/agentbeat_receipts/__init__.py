"""ClaimReceipts: whether a reported number can be recomputed, and whether these are all the runs (spec 4).

Each module has its own documentation; start at `canonical`.
"""
