# SPDX-License-Identifier: Apache-2.0
"""Published tables on swap allocation, made again in kind with the golden model. Nothing is started, all is seeded.

`command` is `hwswap experiments`, and all that may be used from outside. `swapoff`, `offsets` and `cache` are an
experiment each: a function `run(seed, short)` that returns a `comparison.Result`. `published` has the figures of
others, each with its source; `radix_tree` is the tree that was the swap cache before the swap tables; `show` prints a
result, `plot` draws it.
"""
