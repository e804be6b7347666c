# SPDX-License-Identifier: Apache-2.0
# title: memhog
# needs: memhog
# numactl's memhog in a memory group: twice over all of it, without a look at the pages that come back.
limited "$(mb 32)" /memhog/run /memhog/memhog -r2 "$(mb 80)" >/tmp/memhog.log ||
	{ cat /tmp/memhog.log; exit 1; }
