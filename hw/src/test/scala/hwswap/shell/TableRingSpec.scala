// SPDX-License-Identifier: Apache-2.0
package hwswap
package shell

import chisel3.simulator.scalatest.ChiselSim
import org.scalatest.funspec.AnyFunSpec
import hwswap.bus.AxiMemory

/** Swap tables seen from a host: commands in the ring, registers, statistics, SWAPOFF, errors of the bus; the whole
  * engine.
  */
class TableRingSpec extends AnyFunSpec with ChiselSim with Seeded {
  import EngineHost._

  private val p = Params(devices = 2, cpus = 1, clusters = 16)
  private val tables = 0x400000L
  private val pages = 5 * 512 - 30

  private def table(opcode: Int, slot: Long, nr: Int = 0, kinds: Int = 0, arg1: BigInt = 0, arg2: Long = 0) =
    HostCommand(opcode, 1, nr = nr, arg0 = BigInt(slot) | BigInt(kinds) << 32, arg1 = arg1, arg2 = arg2)

  private def life(dut: HwSwap): Unit = {
    val random = seeded()
    val host = new EngineHost(dut, random)
    host.start()
    host.setUp()
    assert(host.run(table(OpcodeCode.TableLookup, 5)).status == StatusCode.BadDevice)
    host.on(1, pages, base = 4)
    assert(host.run(table(OpcodeCode.TableLookup, 5)).status == StatusCode.NoTable)

    // Two clusters with tables, the second one full of shadows with a count of 2.
    host.memory(Target) = tables
    host.memory(Target + 8) = tables + 4096
    def word(slot: Int): Long = 2L << 60 | slot.toLong << 1 | 1
    for (i <- 0 until 512) host.memory(tables + 4096 + 8 * i) = word(i)
    host.ok(table(OpcodeCode.TableGive, 0, nr = 2, arg2 = Target))
    assert(host.ok(table(OpcodeCode.TableLookup, 512 + 77)).result == AxiMemory.unsigned(word(77)))
    assert(host.run(table(OpcodeCode.TableLookup, pages)).status == StatusCode.BadRange)
    assert(host.ok(table(OpcodeCode.TableCount, 0, arg2 = Target + 0x100)).slot == 512)
    val counts = Seq.tabulate(8)(i => host.memory(Target + 0x100 + 8 * i))
    assert(counts == Seq(pages - 512L, 512L, 0L, 0L, 0L, 0L, 0L, 2L))
    assert(host.ok(table(OpcodeCode.TableScan, 9, kinds = 2)).slot == 512)

    // A folio of 16 pages comes in and goes; RESULT is a whole word.
    val fill = table(OpcodeCode.TableFill, 512 + 64, nr = 16, kinds = 2, arg1 = 0xabc00, arg2 = Target + 0x200)
    assert(host.ok(fill).result == AxiMemory.unsigned(word(64)))
    for (i <- 0 until 16) assert(host.memory(tables + 4096 + 8 * (64 + i)) == (2L << 60 | 0xabc00L << 2 | 2))
    val again = host.run(fill)
    assert((again.status, again.slot) == ((StatusCode.Unexpected, 512L + 64)))
    assert(host.memory(Target + 0x208) == 0xffff)
    host.ok(table(OpcodeCode.TableReplace, 512 + 64, nr = 16, arg1 = 0x100, arg2 = 0xabc00))
    host.ok(table(OpcodeCode.TableClear, 512 + 64, nr = 16, kinds = 4, arg1 = 99))
    assert(host.memory(tables + 4096 + 8 * 70) == (2L << 60 | 99))

    // By register, while commands run.
    for (_ <- 0 until 3) host.queue(table(OpcodeCode.TableCount, 0, arg2 = Target + 0x100))
    host.doorbell()
    host.write(RegMap.Lookup.Offset, BigInt(512 + 3) | BigInt(1) << 32 | BigInt(7) << 48)
    host.until("the lookup")(host.field(RegMap.LookupInfo.Offset, RegMap.LookupInfo.Seq) == 7)
    assert(host.read(RegMap.LookupEntry.Offset) == AxiMemory.unsigned(word(3)))
    assert(host.field(RegMap.LookupInfo.Offset, RegMap.LookupInfo.Count) == 2)
    host.completion(host.commands - 1)

    // Taken: no access any more; what SWAPOFF takes is not there for the next device.
    assert(host.ok(table(OpcodeCode.TableTake, 0, nr = 1)).slot == 1)
    host.memory.onRead = address => assert(address < tables || address >= tables + 4096, "a table that was taken")
    assert(host.run(table(OpcodeCode.TableLookup, 3)).status == StatusCode.NoTable)
    host.ok(table(OpcodeCode.TableCount, 0, arg2 = Target + 0x100))
    host.ok(HostCommand(OpcodeCode.SwapoffBegin, 1))
    host.ok(HostCommand(OpcodeCode.Swapoff, 1))
    assert(host.run(HostCommand(OpcodeCode.Swapoff, 1)).status == StatusCode.BadDevice)
    host.memory.onRead = address => assert(address < tables || address >= tables + 8192, "a table that was taken")
    host.on(1, pages, base = 4)
    assert(host.run(table(OpcodeCode.TableLookup, 512 + 77)).status == StatusCode.NoTable)
    host.memory.onRead = _ => ()
    val read = host.read(RegMap.StatTableEntriesRead.Offset)
    val written = host.read(RegMap.StatTableEntriesWritten.Offset)
    assert(read > 512 * 4 && written == 48)
    assert(host.read(RegMap.StatTableBusyCycles.Offset) > read + written)

    // A table that is nowhere: the command says so, and the engine stops.
    host.memory(Target) = tables
    host.ok(table(OpcodeCode.TableGive, 0, nr = 1, arg2 = Target))
    host.memory.bad = address => address == tables + 8 * 100
    assert(host.run(table(OpcodeCode.TableScan, 0, kinds = 64)).status == StatusCode.BusError)
    assert(host.field(RegMap.Status.Offset, RegMap.Status.DmaError) == 1)
    assert(host.field(RegMap.Control.Offset, RegMap.Control.Enable) == 0)
    host.memory.bad = _ => false

    // RESET while a table is read.
    host.write(RegMap.Control.Offset, BigInt(1) << RegMap.Control.Reset.lsb)
    host.until("the end of RESET")(host.field(RegMap.Control.Offset, RegMap.Control.Reset) == 0)
    host.commands = 0
    for (i <- 0 until 16) host.memory(Completions + 8 * i) = 0
    host.setUp()
    host.on(1, pages, base = 4)
    host.ok(table(OpcodeCode.TableGive, 0, nr = 1, arg2 = Target))
    host.queue(table(OpcodeCode.TableScan, 0, kinds = 64))
    host.doorbell()
    host.until("a read of the table")(host.memory.bursts.lastOption.exists(b => b._2 >= tables))
    host.write(RegMap.Control.Offset, BigInt(1) << RegMap.Control.Reset.lsb)
    host.until("the end of RESET")(host.field(RegMap.Control.Offset, RegMap.Control.Reset) == 0)
    host.commands = 0
    for (i <- 0 until 16) host.memory(Completions + 8 * i) = 0
    host.setUp()
    host.on(1, pages, base = 4)
    assert(host.run(table(OpcodeCode.TableLookup, 3)).status == StatusCode.NoTable)
    assert(host.field(RegMap.Status.Offset, RegMap.Status.Fault) == 0, "STATUS.FAULT")
  }

  it("works from the ring and by register") {
    simulate(new HwSwap()(p))(life)
  }
}
