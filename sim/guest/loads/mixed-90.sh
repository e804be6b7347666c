# SPDX-License-Identifier: Apache-2.0
# title: all sizes, swap 90 % full
# Folios of 4 to 128 kB that come and go, while the mix of sizes changes.
swapmix --fill "$((SWAP_MB * 90 / 100))m" --churn "$(mb 128)" --seed "$SEED"
