# SPDX-License-Identifier: Apache-2.0
"""A Linux guest in QEMU: its machine, initramfs, log, and the protocol that plugs devices in.

`qemu.Guest` boots one and runs commands in it.
"""
