# SPDX-License-Identifier: Apache-2.0
# title: usemem, sequential
# Processes that write more than they may keep, from end to end, as vm-scalability's usemem; then they free it.
swapload --processes 4 --size "$(mb 20)" --limit "$(mb 40)" --folio 4k --access sequential --seed "$SEED"
