# SPDX-License-Identifier: Apache-2.0
"""The project itself: where things are built, child processes, versions and hashes, tables.

Everybody may use it; it uses nobody.
"""
