"""Tables of known things: one JSON file for each subject, one row with its source for each thing.

Belongs here: what changes when the world does, as a new release of a distribution. Does not belong here: rules that a
specification fixes, which stand in the readings. A row is added by hand; tests/resolver/inspection/data checks every table.
"""
