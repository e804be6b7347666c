# SPDX-License-Identifier: Apache-2.0
"""Break-even: where offload pays, calculated from measured figures. Nothing is simulated and nothing is measured here.

figures.toml is all that goes in, each figure with its source; `figures` loads and checks it. `soc_fit` fits what the
simulated SoC took and says how far it is off where it was not fitted; `queueing` is mean value analysis; `cost` puts
them together to the cost of a page; `amdahl` bounds what any allocator can win. `report` runs them, `table` and `plot`
show it, `command` is `hwswap break-even`, `record` puts points of `make bench-soc` into figures.toml.
"""
