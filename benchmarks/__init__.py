"""What the hot paths cost: `python -m benchmarks`, or `make bench`.

Figures of two machines, or of two moments of a busy one, cannot be compared. So everything is told beside
something else that was measured in the same minute on the same machine, and the ratio is what counts. Nothing
here is asserted: a number that depends on the weather fails no build.
"""
