# SPDX-License-Identifier: Apache-2.0
# title: usemem, random, 64 kB folios
# The same in random order.
swapload --processes 4 --size "$(mb 20)" --limit "$(mb 40)" --folio 64k --access random --seed "$SEED"
