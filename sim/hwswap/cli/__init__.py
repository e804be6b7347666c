# SPDX-License-Identifier: Apache-2.0
"""The `hwswap` command: what the user types, taken apart and led to what does it.

`main` has the top of the command line and what becomes of errors. `traces`, `bench`, `verify`, `report` and `soc` have
a group of commands each, and `steps` those that the Makefile alone gives; `options` what means the same in all of them;
`parser` how a command is loaded only when it is asked for.
"""
