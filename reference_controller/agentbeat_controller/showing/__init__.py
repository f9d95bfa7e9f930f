"""`agentbeat controller show`: what a run changed, what was expected, and what the Controller signed.

changes, lists   the difference between two JSON values; pure
reading          what the database keeps of a run; reads only
findings         whether the receipt still is what was signed, over what is stored
views            all of it as one record, and as JSON
table, page      the same for a terminal and as one HTML page
options, showing_command  the sub-command
"""
