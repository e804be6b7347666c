// SPDX-License-Identifier: Apache-2.0
package hwswap

import chisel3.util.log2Ceil
import hwswap.bus.Axi

/** Every size of the engine. A value outside its range stops elaboration with one sentence.
  *
  * @param devices
  *   swap devices, 1 to 32 (the kernel's MAX_SWAPFILES bound)
  * @param cpus
  *   CPUs with a place to go on and rings of grants of their own, 1 to 64; the first 16 have a register page each
  * @param clusters
  *   clusters, shared by all devices, a power of two from 8 to 65536; without a core to 524288
  * @param buildHash
  *   the value of register BUILD, 64 bits
  * @param slots
  *   slots of a cluster: 512, the kernel's SWAPFILE_CLUSTER. A power of two from 8 on that is smaller makes a core for
  *   formal proofs, with as many orders as fit and with 2 clusters or more; the whole engine is made with 512 only
  * @param resetTimeoutLog2
  *   cycles for which CONTROL.RESET waits for the bus, as a power of two exponent, 6 to 32
  * @param grants
  *   the reader of clusters and the builder of grants
  * @param core
  *   the allocator, with all that only it has use for: commands and swap tables. Without it there are registers
  *   and grants
  */
final case class Params(
    devices: Int = 8,
    cpus: Int = 4,
    clusters: Int = 1024,
    buildHash: BigInt = 0,
    slots: Int = 512,
    resetTimeoutLog2: Int = 20,
    grants: Boolean = false,
    core: Boolean = true
) {
  private def powerOfTwo(value: Int, from: Int, to: Int): Boolean =
    value >= from && value <= to && (value & (value - 1)) == 0

  require(devices >= 1 && devices <= 32, s"devices is $devices: choose 1 to 32")
  require(cpus >= 1 && cpus <= 64, s"cpus is $cpus: choose 1 to 64")
  require(powerOfTwo(slots, 8, 512), s"slots is $slots: choose 512, or a power of two from 8 on for proofs")

  require(
    resetTimeoutLog2 >= 6 && resetTimeoutLog2 <= 32,
    s"resetTimeoutLog2 is $resetTimeoutLog2: choose 6 to 32"
  )
  require(core || grants, "core is false and grants is false: there is nothing left, choose one of the two")

  // Bitmaps are in as many chunks as there are registers for.
  require(!grants || slots == 512, s"slots is $slots: grants are of clusters of 512 slots")
  private val leastClusters: Int = if (slots == 512) 8 else 2
  private val mostClusters: Int =
    if (core) 65536 else RegMap.GrantChunk.Count * Params.ChunkClusters

  require(
    powerOfTwo(clusters, leastClusters, mostClusters),
    s"clusters is $clusters: choose a power of two from $leastClusters to $mostClusters"
  )
  require(buildHash >= 0 && buildHash.bitLength <= 64, "buildHash does not fit in 64 bits")

  val slotBits: Int = log2Ceil(slots)

  /** Orders 0 to 9 (SWAP_NR_ORDERS with THP_SWAP and 4 KiB pages): the greatest is a whole cluster. */
  val orders: Int = slotBits + 1

  /** Width of a number of slots in a cluster, 0 to 512. */
  val countBits: Int = log2Ceil(slots + 1)

  /** A row is stored and worked on in words of so many slots. */
  val wordSlots: Int = 32.min(slots / 4)

  val wordSlotBits: Int = log2Ceil(wordSlots)

  /** Slots that are dumped at once: a word on the bus. */
  val dumpBits: Int = Axi.DataBits.min(slots / 2)

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

  /** The policy PLACEMENT: INDEXED can be chosen: in every core but those for proofs. */
  val indexed: Boolean = core && slots == 512

  /** Width of a number of slots of all clusters, 0 to 512 * `clusters`. */
  val usedBits: Int = slotBits + clusterCountBits
}

object Params {

  /** Grants: clusters whose bitmaps are in one chunk of 2 MiB. */
  val ChunkClusters: Int = 32768

  /** Entries of a ring of grants, as a power of two exponent. */
  val GrantRingLog2: Int = 2
}
