"""Reports: one verification as a table, as JSON and as one HTML page, and a verdict explained.

All are pure functions of a `ClaimReport`. What was delivered is data in each of them: it is shortened, lists
are capped and what is left out is counted, and nothing of it reaches a terminal or a browser as anything but
text.
"""
