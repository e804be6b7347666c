# SPDX-License-Identifier: Apache-2.0
"""What is learnt from a running kernel: tracepoints, recordings, and comparisons of its answers with the model's."""
