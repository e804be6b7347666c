# SPDX-License-Identifier: Apache-2.0
"""hwswap: golden model, traces, replay and the simulated machine."""
