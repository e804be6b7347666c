// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3.util.log2Ceil

/** Every size of the engine. A value outside its range stops elaboration with one sentence.
  *
  * @param devices
  *   swap devices, 1 to 32 (the kernel's MAX_SWAPFILES bound)
  * @param cpus
  *   CPUs with a hint state and rings of their own, 1 to 64; the first 16 have a register page each
  * @param clusters
  *   clusters in the on-chip store, shared by all devices, a power of two from 8 to 65536
  * @param hintRingLog2
  *   entries of one hint ring as a power of two exponent, 1 to 8
  * @param buildHash
  *   what register BUILD reads, 64 bits
  */
final case class Params(
    devices: Int = 8,
    cpus: Int = 4,
    clusters: Int = 1024,
    hintRingLog2: Int = 4,
    buildHash: BigInt = 0
) {
  require(devices >= 1 && devices <= 32, s"devices is $devices: choose 1 to 32")
  require(cpus >= 1 && cpus <= 64, s"cpus is $cpus: choose 1 to 64")
  require(
    clusters >= 8 && clusters <= 65536 && (clusters & (clusters - 1)) == 0,
    s"clusters is $clusters: choose a power of two from 8 to 65536"
  )
  require(hintRingLog2 >= 1 && hintRingLog2 <= 8, s"hintRingLog2 is $hintRingLog2: choose 1 to 8")
  require(buildHash >= 0 && buildHash.bitLength <= 64, "buildHash does not fit in 64 bits")

  /** Orders 0 to 9 (SWAP_NR_ORDERS with THP_SWAP and 4 KiB pages). */
  val orders: Int = 10

  /** Slots of a cluster (SWAPFILE_CLUSTER). */
  val slots: Int = 512

  val slotBits: Int = log2Ceil(slots)

  /** Width of a number of slots in a cluster, 0 to 512. */
  val countBits: Int = log2Ceil(slots + 1)

  /** A row is stored and worked on in words of so many slots. */
  val wordSlots: Int = 32

  val wordSlotBits: Int = log2Ceil(wordSlots)

  /** Words of a row. */
  val words: Int = slots / wordSlots

  val wordBits: Int = log2Ceil(words)

  /** Orders of the runs that fit in a word: 0 to 5. */
  val wordOrders: Int = wordSlotBits + 1

  val orderBits: Int = log2Ceil(orders)

  /** Lists of a device: FREE, NONFULL and FRAG for each order, FULL, DISCARD. */
  val lists: Int = 2 * orders + 3

  val listBits: Int = log2Ceil(lists)

  val deviceBits: Int = log2Ceil(devices).max(1)
  val cpuBits: Int = log2Ceil(cpus).max(1)

  /** CPUs that have a register page. */
  val cpuPages: Int = cpus.min(RegMap.CpuPage.Count)

  /** Width of a priority, which is signed. */
  val priorityBits: Int = RegMap.Device.State.Priority.width

  val clusterBits: Int = log2Ceil(clusters)

  /** Width of a number of clusters, 0 to `clusters`. */
  val clusterCountBits: Int = log2Ceil(clusters + 1)

  /** Width of a number of slots of all clusters, 0 to 512 * `clusters`. */
  val usedBits: Int = slotBits + clusterCountBits
}
