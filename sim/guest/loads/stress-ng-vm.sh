# SPDX-License-Identifier: Apache-2.0
# title: stress-ng, vm
# needs: stress-ng
# Its stressor of memory, with all of its patterns, which verifies its reads; in a memory group.
limited "$(mb 32)" /stress-ng/run /stress-ng/stress-ng --temp-path /tmp --vm 2 --vm-bytes "$(mb 48)" --vm-keep \
	--vm-method all --vm-ops "$((40 * SCALE / 100 + 1))" --verify --seed "$SEED" >/tmp/stress-ng.log 2>&1 ||
	{ cat /tmp/stress-ng.log; exit 1; }
