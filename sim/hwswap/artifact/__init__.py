# SPDX-License-Identifier: Apache-2.0
"""What reviewers of an artifact run: each figure on record, its command, and how far a run may be off.

`claims.toml` is the list, `claims` reads it. `selection` finds a figure in the result that its command leaves.
`verdicts` runs the commands and says what holds: from outside use that alone. `page` keeps docs/artifact.md the same as
the list.
"""
