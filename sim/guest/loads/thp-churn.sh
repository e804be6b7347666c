# SPDX-License-Identifier: Apache-2.0
# title: 64 kB folios over a churn of pages
# In the manner of the kernel's test of swap allocation for large folios: 64 kB folios go out again and again, while
# short processes take single pages and leave holes.
round=0
while [ $round -lt 12 ]; do
	swapload --size "$(mb 24)" --limit "$(mb 8)" --folio 64k --access random --seed "$((SEED + round))" &
	large=$!
	swapload --processes 2 --size "$(mb 10)" --limit "$(mb 8)" --folio 4k --access random \
		--seed "$((SEED + 100 + round))" || exit 1
	wait $large || exit 1
	round=$((round + 1))
done
