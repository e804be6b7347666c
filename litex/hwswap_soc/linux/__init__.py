# SPDX-License-Identifier: Apache-2.0
"""Linux on the SoC: what it boots from, runs of it on the simulated SoC, and what they say.

For `boards`: `devicetree`, `linux_image` (OpenSBI, kernel and initramfs at their addresses), `card_image`. `linux` with
`linux_result` and `linux_table`, `linux_session`, `card_files`, `card_image` and `card_write` are commands of
`hwswap soc`.
"""
