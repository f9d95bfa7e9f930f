"""Reports: one run of the suite as a table, JSON, JUnit XML, HTML and a badge.

All are pure functions of a `Report`. What a server answered is data in each of them: it is shortened, and
nothing of it reaches a terminal, a browser or an XML reader as anything but text.
"""
