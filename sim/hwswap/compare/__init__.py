# SPDX-License-Identifier: Apache-2.0
"""A trace run through the golden model: every decision compared, operation by operation or step by step.

`check.replay` does it in the way that the trace asks for.
"""
