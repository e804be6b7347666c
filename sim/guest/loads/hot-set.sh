# SPDX-License-Identifier: Apache-2.0
# title: 80 % of visits to 20 % of memory
# As pmbench with a hot set: the pages touched most stay in memory, all others go out and come in at random.
swapload --size "$(mb 96)" --limit "$(mb 40)" --folio 4k --access hot --rounds 2 --seed "$SEED"
