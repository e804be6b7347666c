# SPDX-License-Identifier: Apache-2.0
"""The `hwswap` command: takes the command line apart and calls the module or function of the command.

`main` has the top of the command line and the handling of errors. `traces`, `modules` and `report` have tables of
commands, and `steps` those that the Makefile alone gives; `options` has the options that mean the same in all; `parser`
loads a command only when it is asked for.
"""
