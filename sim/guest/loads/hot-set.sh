# SPDX-License-Identifier: Apache-2.0
# title: 80 % of visits to 20 % of memory
# As pmbench with a hot set: what is touched most stays in memory, all else goes out and comes in at random.
swapload --size "$(mb 96)" --limit "$(mb 40)" --folio 4k --access hot --rounds 2 --seed "$SEED"
