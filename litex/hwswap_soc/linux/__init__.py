# SPDX-License-Identifier: Apache-2.0
"""Linux on the SoC: its boot images, runs of it on the simulated SoC, and their results.

For `boards`: `devicetree`, `linux_image` (OpenSBI, kernel and initramfs at their addresses). Commands of `hwswap soc`:
`linux`, whose runs follow `linux_plan`, are judged by `linux_result` and shown by `linux_figures`; and `linux_image`.
"""
