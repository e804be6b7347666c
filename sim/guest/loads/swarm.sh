# SPDX-License-Identifier: Apache-2.0
# title: a swarm of short processes
# As a build: each takes a little more memory than its group may have, and ends, so that slots are freed in runs.
round=0
while [ $round -lt 16 ]; do
	case $((round % 3)) in
	0) folio=4k ;;
	1) folio=64k ;;
	2) folio=16k ;;
	esac
	swapload --processes 4 --size "$(mb 2)" --limit "$(mb 5)" --folio $folio --access random \
		--seed "$((SEED + round))" &
	one=$!
	swapload --processes 3 --size "$(mb 3)" --limit "$(mb 5)" --folio 4k --seed "$((SEED + 50 + round))" || exit 1
	wait $one || exit 1
	round=$((round + 1))
done
