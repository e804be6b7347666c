# SPDX-License-Identifier: Apache-2.0
# The common part of the loads with Redis; in the guest it is beside the server.

# redis_load MB [nosave]: a data set larger than its memory, filled, read and written at random, and read as a whole.
# Unless told otherwise the server saves it meanwhile, twice, by a child that shares its pages. MB of its limit are for
# the server itself, at any scale, and its child.
redis_load() {
	own=$1
	shift
	export REDIS_REQUESTS=/tmp/requests REDIS_REPLIES=/tmp/replies
	rm -f $REDIS_REQUESTS $REDIS_REPLIES && mkfifo $REDIS_REQUESTS $REDIS_REPLIES
	echo always >/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled
	echo 1 >/proc/sys/vm/overcommit_memory
	limited "$((own * 1024 + 8 * SCALE * 1024 / 100))k" /redis/ld-linux-x86-64.so.2 --library-path /redis \
		--preload /redis/pipes.so /redis/redis-server --port 0 --unixsocket /tmp/redis --dir /tmp --save "" \
		--disable-thp no >/tmp/redis.log 2>&1 &
	server=$!
	/redis/redisload $REDIS_REQUESTS $REDIS_REPLIES "$((20000 * SCALE / 100))" "$((8000 * SCALE / 100))" "$SEED" \
		"$@" >/dev/null &
	client=$!
	# Without its server the client would wait for ever.
	wait $server || { cat /tmp/redis.log; kill $client; return 1; }
	wait $client || return 1
	echo madvise >/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled
	rm -f /tmp/dump.rdb
}
