// SPDX-License-Identifier: Apache-2.0
package hwswap
package core

import org.scalatest.funspec.AnyFunSpec

/** The rules of the mirror and of hints, one by one. */
class CoreMirrorSpec extends AnyFunSpec with CoreTest {
  private val Slots = 512

  /** A row with these slots in use. */
  private def row(slots: Range): BigInt = slots.foldLeft(BigInt(0))(_.setBit(_))
  private val header = row(0 until 1)
  private val all = row(0 until Slots)

  /** A device of three clusters, from engine cluster 4 on, of epoch 9. */
  private def mirrored(core: CoreDriver, device: Int = 0, flags: Int = CoreDriver.Ssd): Unit =
    core.on(device, 3 * Slots, 4, flags, epoch = 9)

  private def record(bitmap: BigInt, flag: Int, seq: Long, order: Int = 0): Record =
    Record(bitmap, flag, order, seq, epoch = 9)

  rule("a hint is made like an allocation, and its slots are in use for the engine alone") { core =>
    mirrored(core)
    val hint = core.hintAlloc(0, 0)
    assert(core.place(hint) == (0, 1) && hint.epoch == 9)
    assert(core.place(core.hintAlloc(0, 0)) == (0, 2) && core.seen("fast") == 1)
    assert(core.place(core.hintAlloc(1, 4)) == (0, 512))
    assert(core.hintedSlots == 18 && core.used(0) == 19 && core.freeSlots == 3 * Slots - 19)
    // The kernel's slots are shown without them: the header is the only one of cluster 4.
    assert(core.ok(core.dump(4)).record == Record(header, FlagCode.None, epoch = 9, count = Some(1)))
    core.sound(0)
  }

  rule("a consumed hint's slots pass from H to K with the record, and its release takes nothing more") { core =>
    mirrored(core)
    assert(core.place(core.hintAlloc(0, 3)) == (0, 512))
    val taken = record(row(0 until 8), FlagCode.Frag, seq = 1, order = 3)
    assert(core.ok(core.apply(5, taken)).taken && core.hintedSlots == 0 && core.used(0) == 9)
    assert(!core.seen.contains("move"), "the engine had put the cluster on FRAG[3] itself")
    core.ok(core.release(0, 512, 3, 9))
    assert(core.used(0) == 9)
    assert(core.ok(core.dump(5)).record == taken.copy(count = Some(8)))
    core.sound(0)
  }

  rule("a hint that is recalled leaves its cluster free again, or on FRAG when it was full") { core =>
    mirrored(core)
    assert(core.place(core.hintAlloc(0, 8)) == (0, 512))
    assert(core.place(core.hintAlloc(0, 8)) == (0, 768))
    core.ok(core.release(0, 768, 8, 9)) // FULL to FRAG[8]
    assert(core.seen == Map("move" -> 1))
    assert(core.place(core.hintAlloc(1, 8)) == (0, 1024) && core.seen("free") == 1)
    core.ok(core.release(0, 1024, 8, 9)) // FRAG to FREE
    core.ok(core.release(0, 512, 8, 9))
    assert(core.hintedSlots == 0 && core.used(0) == 1)
    assert(core.place(core.hintAlloc(2, 9)) == (0, 1024))
    core.sound(0)
  }

  rule("a release for another epoch, device or place changes nothing") { core =>
    mirrored(core)
    core.place(core.hintAlloc(0, 0))
    core.ok(core.release(0, 1, 0, 8))
    core.ok(core.release(1, 1, 0, 9))
    core.ok(core.release(31, 1, 0, 9))
    core.ok(core.release(0, 0xffffffffL, 0, 9))
    core.ok(core.release(0, 1, 9, 9))
    core.ok(core.release(0, 1, 15, 9))
    assert(core.hintedSlots == 1)
    core.ok(core.release(0, 1, 0, 9))
    assert(core.hintedSlots == 0)
    core.sound(0)
  }

  rule("a record is taken if it is newer, of the device's epoch, and of a claimed cluster") { core =>
    mirrored(core)
    assert(core.apply(5, record(all, FlagCode.Full, seq = 0xfffffff0L)).taken) // a fresh cluster takes any
    assert(!core.apply(5, record(0, FlagCode.Free, seq = 0xfffffff0L)).taken)
    assert(!core.apply(5, record(0, FlagCode.Free, seq = 0xffffffefL)).taken)
    assert(!core.apply(5, Record(0, FlagCode.Free, seq = 0xfffffff1L, epoch = 8)).taken)
    assert(core.used(0) == 1 + Slots)
    assert(core.apply(5, record(row(3 until 5), FlagCode.Nonfull, seq = 3)).taken) // modulo 2^32
    assert(core.used(0) == 1 + 2)
    assert(!core.apply(7, record(0, FlagCode.Free, seq = 5)).taken)
    assert(!core.apply(3, record(0, FlagCode.Free, seq = 5)).taken)
    // A cluster nobody has is dumped empty.
    assert(core.ok(core.dump(7)).record == Record(0, FlagCode.None, count = Some(0)))
    core.sound(0)
  }

  rule("a cluster goes where the kernel has it, to the tail only if that is another list") { core =>
    mirrored(core)
    core.apply(4, record(all, FlagCode.Full, seq = 1))
    core.apply(5, record(row(0 until 4), FlagCode.Frag, seq = 1, order = 2))
    core.apply(6, record(row(0 until 4), FlagCode.Frag, seq = 1, order = 2))
    core.apply(5, record(row(0 until 8), FlagCode.Frag, seq = 2, order = 2))
    assert(!core.seen.contains("move"))
    assert(core.place(core.hintAlloc(0, 2)) == (0, 520) && core.seen("frag") == 1)
    core.apply(5, record(row(0 until 8), FlagCode.Frag, seq = 3, order = 3))
    assert(core.seen == Map("move" -> 1))
    // Off the lists and DISCARD are not usable, and a full cluster is FULL whatever the flag says.
    core.apply(6, record(row(0 until 4), FlagCode.None, seq = 2))
    core.apply(4, record(row(0 until 5), FlagCode.Discard, seq = 2))
    assert(core.hintAlloc(1, 2).status == StatusCode.NoSpace)
    core.apply(6, record(all, FlagCode.Nonfull, seq = 3))
    core.apply(4, record(row(0 until 5), FlagCode.Full, seq = 3)) // FULL with room counts as NONFULL
    assert(core.place(core.hintAlloc(1, 0)) == (0, 5) && core.seen("nonfull") == 1)
    core.sound(0)
  }

  rule("a cluster the kernel has as FREE stays where the engine's hints have put it") { core =>
    mirrored(core)
    core.apply(4, record(all, FlagCode.Full, seq = 1))
    assert(core.place(core.hintAlloc(0, 5)) == (0, 512))
    core.apply(5, record(0, FlagCode.Free, seq = 1))
    assert(core.place(core.hintAlloc(0, 5)) == (0, 544) && core.seen("fast") == 1)
    core.apply(5, record(0, FlagCode.None, seq = 2))
    assert(core.place(core.hintAlloc(0, 5)) == (0, 576) && core.seen("fast") == 1)
    // Without hints it is the kernel's word that counts.
    for (offset <- Seq(512, 544, 576))
      core.ok(core.release(0, offset, 5, 9))
    assert(core.place(core.hintAlloc(0, 9)) == (0, 1024))
    assert(core.place(core.hintAlloc(0, 9)) == (0, 512))
    core.sound(0)
  }

  rule("records that make no sense keep their cluster off the lists") { core =>
    mirrored(core)
    core.apply(4, record(all, FlagCode.Full, seq = 1))
    core.apply(5, record(0, 15, seq = 1))
    core.apply(6, record(row(1 until 2), FlagCode.Frag, seq = 1, order = 12))
    assert(core.hintAlloc(0, 0).status == StatusCode.NoSpace)
    assert(core.ok(core.dump(6)).record.order == 12)
    core.sound(0)
  }

  rule("devices that take no hints, and rotating ones, are passed over without losing their place") { core =>
    val rotating = 1 << MemMap.DeviceFlags.Flags.Blkdev.lsb
    val silent = CoreDriver.Ssd | (1 << MemMap.DeviceFlags.Flags.NoHints.lsb)
    core.on(0, Slots, 0, rotating, priority = 5)
    core.on(1, Slots, 1, silent, priority = 5)
    core.on(2, Slots, 2, CoreDriver.Ssd, priority = 5)
    core.on(3, Slots, 3, CoreDriver.Ssd | 4, priority = 5)
    assert(core.place(core.hintAlloc(0, 0)) == (2, 1))
    assert(core.place(core.hintAlloc(1, 0)) == (3, 1))
    assert(core.place(core.hintAlloc(2, 0)) == (2, 2))
    core.sound(0, 1, 2, 3)
  }

  rule("records that come before SWAPON place their clusters, and SWAPON lists the others") { core =>
    core.ok(core.prepare(0, 3 * Slots, 4, epoch = 9))
    assert(core.apply(5, record(row(0 until 2), FlagCode.Frag, seq = 7, order = 1)).taken)
    core.ok(core.swapon(0))
    assert(core.used(0) == 3)
    assert(core.place(core.hintAlloc(0, 1)) == (0, 1024))
    assert(core.place(core.hintAlloc(1, 1)) == (0, 514) && core.seen("frag") == 1)
    core.sound(0)
  }

  rule("a device that goes takes its hints along") { core =>
    mirrored(core)
    core.place(core.hintAlloc(0, 6))
    core.ok(core.swapoffBegin(0))
    assert(core.hintedSlots == 64 && core.freeSlots == 0)
    core.ok(core.swapoff(0))
    assert(core.hintedSlots == 0 && core.hintAlloc(0, 6).status == StatusCode.NoSpace)
    mirrored(core)
    assert(core.used(0) == 1 && core.place(core.hintAlloc(0, 6)) == (0, 512))
    core.sound(0)
  }

  rule("allocations and frees are not for this mode") { core =>
    mirrored(core)
    assert(core.alloc(0, 0).status == StatusCode.BadOpcode)
    assert(core.free(0, 1, 1).status == StatusCode.BadOpcode)
  }

  rule("answers take the cycles the unit promises") { core =>
    mirrored(core)
    assert(core.apply(5, record(header, FlagCode.Frag, seq = 1)).cycles == 31, "a record with a list move")
    assert(core.apply(5, record(header << 1, FlagCode.Frag, seq = 2)).cycles == 32, "a record")
    assert(core.dump(5).cycles == 32)
    assert(core.hintAlloc(0, 1).cycles == 14)
    assert(core.hintAlloc(0, 1).cycles == 6)
    assert(core.release(0, 1024, 1, 9).cycles == 19)
    assert(core.release(0, 1026, 1, 9).cycles == 18, "a release with a list move")
  }

  describe("the core, advisory") {
    it("keeps the rules of the mirror and of hints") {
      keepsTheRules(advisory = true)
    }
  }
}
