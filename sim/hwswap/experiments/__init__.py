# SPDX-License-Identifier: Apache-2.0
"""Published tables on swap allocation, made again in kind with the golden model, and on kernels. All is seeded.

`command` is `hwswap experiments`, and all that may be used from outside. `swapoff`, `offsets`, `cache`, `devices` and
`fallbacks` are an experiment each: a function `run(seed, short)` that returns a `comparison.Result`. The last two boot
kernels (`kernels`), the others start nothing. `published` has the figures of others, each with its source; `radix_tree`
is the tree that was the swap cache before the swap tables, `folio_mix` the workload swapmix on models.
"""
