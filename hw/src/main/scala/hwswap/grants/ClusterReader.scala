// SPDX-License-Identifier: Apache-2.0
package hwswap
package grants

import chisel3._
import chisel3.util._

/** Reads all clusters in turn, as Reader of the golden model does. A round reads the words of 16 clusters in one burst,
  * then the bitmaps of those that are in use and have room. Between two clusters the reader takes the one that the
  * builder of grants asks for.
  *
  * A cluster may change while it is being read. The next round reads it again.
  */
class ClusterReader(implicit p: Params) extends Module {
  import GrantLayout._
  val io = IO(new Bundle {
    val settings = Input(new GrantSettings)
    val memory = new BurstPort

    /** A cluster that is read before the round goes on, also while there are no rounds. `ready` in the cycle in which
      * the index takes what was read.
      */
    val again = Flipped(Decoupled(UInt(p.clusterBits.W)))
    val reading = Decoupled(new Reading)

    /** The index took something new (pulse); it has handled all that it took (level). */
    val news, settled = Input(Bool())

    /** Pulses when all clusters were read and are in the index. */
    val round = Output(Bool())

    /** No round is under way. */
    val idle = Output(Bool())

    /** A cluster, or words of clusters, are being read. */
    val working = Output(Bool())
  })

  /** Clusters whose words are read at once: 16, or all if there are fewer. */
  private val blockBits = p.clusterBits.min(log2Ceil(Bursts.MaxWords) + 1)
  private val blockWords = (1 << blockBits) / 2

  private object State extends ChiselEnum {
    val next, askWords, words, look, askBitmap, bitmap, give = Value
  }
  private val state = RegInit(State.next)

  // The round: its next cluster, one more bit says that there is none; whether the words of that one's block are here.
  private val begun = RegInit(false.B)
  private val at = Reg(UInt((p.clusterBits + 1).W))
  private val hasWords = Reg(Bool())
  private val news = RegInit(false.B)

  /** Cycles of rest before the round goes on, or the next one begins. */
  private val rest = RegInit(0.U(io.settings.pause.getWidth.max(io.settings.pace.getWidth).W))

  /** The builder has asked for the cluster that is being read. */
  private val again = Reg(Bool())
  private val cluster = Mux(again, io.again.bits, at(p.clusterBits - 1, 0))

  // Words, two a row: of the round's block, and apart from them of a cluster of another block that is asked for. One of
  // this block has a new word when its turn comes, too.
  private val words = Mem(2 * blockWords, Vec(2, new ClusterWord))
  private val apart = cluster >> blockBits =/= at(p.clusterBits - 1, 0) >> blockBits
  private val row = apart ## cluster(blockBits - 1, 1)
  private val count = Reg(UInt(3.W))
  private val word = Reg(new ClusterWord)

  private val runs = Module(new BitmapRuns)
  runs.io.start := state === State.askBitmap
  runs.io.word.valid := state === State.bitmap && io.memory.rdata.valid
  runs.io.word.bits := io.memory.rdata.bits.data

  private val read = io.memory.read
  private val wordAddress = io.settings.words + (cluster ## 0.U(WordLog2.W))
  read.valid := state === State.askWords || state === State.askBitmap
  read.bits.id := 0.U
  read.bits.address := Mux(
    state === State.askWords,
    wordAddress(wordAddress.getWidth - 1, 3) ## 0.U(3.W),
    io.settings.bitmap(cluster)
  )
  read.bits.words := Mux(state === State.askBitmap, Words.U, Mux(again, 1.U, blockWords.U))
  io.memory.write.valid := false.B
  io.memory.write.bits := DontCare
  io.memory.wdata.valid := false.B
  io.memory.wdata.bits := DontCare

  // Of an empty cluster all orders find a run; of one that is on no list with room, none may come in.
  io.reading.valid := state === State.give
  io.reading.bits.cluster := cluster
  io.reading.bits.summary.word := word
  io.reading.bits.summary.run := Mux(word.free, Orders.U, Mux(word.partly, runs.io.run, 0.U))
  io.again.ready := io.reading.fire && again

  private val over = at(p.clusterBits)
  private val goesOn = state === State.next && !io.again.valid && rest === 0.U && io.settings.read
  io.round := goesOn && begun && over && io.settled
  io.idle := state === State.next && !begun
  io.working := state =/= State.next

  /** The request is not the round's. */
  private val ofRound = Reg(Bool())
  when(io.news && ofRound)(news := true.B)

  switch(state) {
    is(State.next) {
      again := io.again.valid
      count := 0.U
      when(!io.settings.read)(begun := false.B)
      when(io.again.valid)(state := State.askWords)
        .elsewhen(rest =/= 0.U)(rest := rest - 1.U)
      when(goesOn && begun && !over)(state := Mux(hasWords, State.look, State.askWords))
      when(goesOn && !begun) {
        begun := true.B
        at := 0.U
        hasWords := false.B
      }
      when(io.round) {
        begun := false.B
        news := false.B
        when(!news)(rest := io.settings.pause)
      }
    }
    is(State.askWords)(when(read.fire)(state := State.words))
    is(State.words) {
      when(io.memory.rdata.valid) {
        val data = io.memory.rdata.bits.data
        words.write(row | count, VecInit(ClusterWord.unpack(data(31, 0)), ClusterWord.unpack(data(63, 32))))
        count := count + 1.U
        when(io.memory.rdata.bits.last) {
          state := Mux(again, State.look, State.next)
          when(!again) {
            hasWords := true.B
            rest := io.settings.pace
          }
        }
      }
    }
    is(State.look) {
      val found = words(row)(cluster(0))
      word := found
      state := Mux(found.partly, State.askBitmap, State.give)
    }
    is(State.askBitmap)(when(read.fire)(state := State.bitmap))
    is(State.bitmap) {
      when(runs.io.done) {
        state := State.give
        when(!again)(rest := io.settings.pace)
      }
    }
    is(State.give) {
      when(io.reading.fire) {
        state := State.next
        ofRound := !again
        when(!again) {
          at := at + 1.U
          hasWords := !at(blockBits - 1, 0).andR
        }
      }
    }
  }

  private val expects = state === State.words || state === State.bitmap
  assert(!io.memory.rdata.valid || expects, "a word comes that was not asked for")
  assert(state === State.next || again || (!over && begun), "a round reads on after its end")
  assert(state =/= State.look || again || hasWords, "a cluster is looked at whose word was not read")
  assert(state === State.next || !again || io.again.valid, "what is to be read again is taken back")
  assert(state =/= State.words || again || !at(blockBits - 1, 0).orR, "a block of words begins within one")
}
