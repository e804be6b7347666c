# SPDX-License-Identifier: Apache-2.0
# machine: cpus=2 disks=3 disk_mb=48
# needs: redis
# Redis with a data set larger than its memory limit, on two equal devices: filled, then twice saved in the background
# (a child that shares all pages, also those in swap) while keys are read and written at random, then read as a whole.
for disk in 0 1; do
	swapctl make /dev/ram$disk
	swapctl on /dev/ram$disk
done
mke2fs /dev/ram2 >/dev/null 2>&1
mkdir -p /mnt /sys/fs/cgroup/redis
mount -t ext2 /dev/ram2 /mnt
echo always >/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled
echo 1 >/proc/sys/vm/overcommit_memory
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
echo 14M >/sys/fs/cgroup/redis/memory.max
export REDIS_REQUESTS=/tmp/requests REDIS_REPLIES=/tmp/replies
mkfifo $REDIS_REQUESTS $REDIS_REPLIES
sh -c 'echo 0 >/sys/fs/cgroup/redis/cgroup.procs
	exec /redis/ld-linux-x86-64.so.2 --library-path /redis --preload /redis/pipes.so /redis/redis-server \
		--port 0 --unixsocket /tmp/redis --dir /mnt --save "" --disable-thp no' >/tmp/redis.log 2>&1 &
server=$!
/redis/redisload $REDIS_REQUESTS $REDIS_REPLIES 20000 8000 "$SEED" &
client=$!
# Without its server the client would wait for ever.
wait $server || { cat /tmp/redis.log; kill $client; exit 1; }
wait $client || exit 1
umount /mnt
swapctl off /dev/ram0 /dev/ram1
