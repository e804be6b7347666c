# SPDX-License-Identifier: Apache-2.0
"""Systems on chip with the engine: what boards and simulation share, the boards, and the simulation."""
