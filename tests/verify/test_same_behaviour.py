# SPDX-License-Identifier: Apache-2.0
"""Comparing two versions of a circuit: what has to be proved the same, and what must not be."""

import pytest
from hwswap.verify import equivalent
from hwswap.verify.same_behaviour import Comparison, compare, flat

BEFORE = """
module Part(input clock, input [3:0] io_a, input io_take, output [3:0] io_held);
  reg [3:0] held;
  always @(posedge clock) if (io_take) held <= io_a;
  assign io_held = held;
endmodule
module Top(input clock, input reset, input [3:0] a, input b, input c, input take, output [3:0] q, output r);
  wire [3:0] _part_io_held;
  reg [3:0] count;
  reg q_REG;
  reg [3:0] Memory[0:7];
  Part part (.clock(clock), .io_a(a), .io_take(take), .io_held(_part_io_held));
  always @(posedge clock) begin
    if (reset) count <= 4'h0; else count <= count + _part_io_held;
    q_REG <= take & b;
    if (take) Memory[a[2:0]] <= count;
    assert (reset || !(b && c) || count != 4'h9);
  end
  assign q = q_REG ? Memory[count[2:0]] : count;
  assign r = (a[0] & b) | (a[0] & c);
endmodule
"""

AFTER = """
module Half(input clock, input [3:0] io_in_bits, input io_in_valid, output [3:0] io_out);
  reg [3:0] held;
  always @(posedge clock) held <= io_in_valid ? io_in_bits : held;
  assign io_out = held;
endmodule
module Top(input clock, input reset, input [3:0] a, input b, input c, input take, output [3:0] q, output r);
  wire [3:0] held;
  reg [3:0] count;
  reg late_REG_1;
  reg [3:0] Memory[0:7];
  Half part (.clock(clock), .io_in_bits(a), .io_in_valid(take), .io_out(held));
  wire [3:0] next = reset ? 4'h0 : held + count;
  always @(posedge clock) begin
    count <= next;
    late_REG_1 <= b & take;
    if (take) Memory[a[2:0]] <= count;
    assert (count != 4'h9 || !b || !c || reset);
  end
  assign q = late_REG_1 ? Memory[count[2:0]] : count;
  assign r = a[0] & (b | c);
endmodule
"""


def compared(folder, before: str, after: str) -> Comparison:
    """Compare two texts."""
    versions = []
    for name, text in (("before", before), ("after", after)):
        path = folder / f"{name}.sv"
        path.write_text(text)
        versions.append(flat(path, "Top", folder / name))
    return compare(versions[0], versions[1], folder)


def test_other_structure_is_the_same(tmp_path):
    """Ports inside, a register that Chisel numbered, the shape of logic: none of them matters."""
    found = compared(tmp_path, BEFORE, AFTER)
    assert found.differences == []
    assert (found.registers, found.renamed, found.outputs) == (9, 1, 5)
    assert (found.memories, found.assertions) == (1, 1)
    assert found.by_solver >= 1


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("io_in_valid ? io_in_bits", "io_in_valid ? ~io_in_bits", "the register part.held, bit 0 is not proved"),
        ("reset ? 4'h0 : held", "reset ? 4'h1 : held", "the register count, bit 0 is not proved"),
        ("late_REG_1 <= b & take", "late_REG_1 <= b | take", "q_REG, bit 0, is there only before"),
        ("if (take) Memory", "if (take & b) Memory", "the memory port Memory $memwr_v2 0 EN 0 is not proved"),
        ("a[0] & (b | c)", "a[0] & (b ^ c)", "the output r, bit 0 is not proved"),
        ("count != 4'h9", "count != 4'h8", "an assertion is not proved"),
        ("input c, ", "input c, input d, ", "the port d (input, 1 bits) is there only after"),
        ("Memory[0:7]", "Memory[0:3]", "the memory Memory (4 x 8) is there only before"),
        ("    assert", "    if (0) assert (1);\n    assert (1);\n    assert", "assertions before"),
        ("  reg late_REG_1;", "  reg late_REG_1; reg more;\n  always @(posedge clock) more <= r ^ more;", None),
    ],
)
def test_difference_is_told(tmp_path, old, new, said):
    """A change of the logic, of a register, of a memory, of a port and of an assertion."""
    assert old in AFTER
    after = AFTER.replace(old, new)
    if said is None:  # nobody looks at it, and it is swept away
        assert compared(tmp_path, BEFORE, after).same
        return
    found = compared(tmp_path, BEFORE, after)
    assert any(said in sentence for sentence in found.differences), found.differences


def test_register_that_is_seen_needs_a_counterpart(tmp_path):
    """A cycle more in the path to an output."""
    after = AFTER.replace(
        "  assign r = a[0] & (b | c);", "  reg r_late;\n  always @(posedge clock) r_late <= a[0];\n  assign r = r_late;"
    )
    found = compared(tmp_path, BEFORE, after)
    assert "the register r_late, bit 0, is there only after" in found.differences


def test_registers_that_take_in_the_same_are_paired_by_name(tmp_path):
    """Two that are numbered, of which one gets a name that comes behind the other's."""
    before = """
module Top(input clock, input a, output [1:0] q);
  reg b_REG;
  reg a_named;
  always @(posedge clock) begin b_REG <= a; a_named <= a; end
  assign q = {b_REG, a_named};
endmodule
"""
    found = compared(tmp_path, before, before.replace("a_named", "c_named"))
    assert found.same
    assert (found.registers, found.renamed) == (2, 1)


def test_registers_that_take_in_the_same_hold_the_same(tmp_path):
    """All are renamed, and nothing tells which was which: it does not matter while what they hold is used alike."""
    text = """
module Top(input clock, input a, input b, output q, output r);
  reg {0}, {1};
  always @(posedge clock) begin {0} <= a; {1} <= a; end
  assign q = {0} & b;
  assign r = {1} | b;
endmodule
"""
    found = compared(tmp_path, text.format("x", "y"), text.format("n", "m"))
    assert found.differences == []
    assert (found.registers, found.renamed) == (2, 2)
    other = text.format("n", "m").replace("m <= a", "m <= b")
    assert compared(tmp_path, text.format("x", "y"), other).differences


def test_registers_that_may_begin_with_different_contents_are_not_taken_for_one(tmp_path):
    """They take in the same when `b` says so, and hold until then: an output of 0 in place of their XOR is told."""
    text = """
module Top(input clock, input a, input b, output q);
  reg {0}, {1};
  always @(posedge clock) if (b) begin {0} <= a; {1} <= a; end
  assign q = {2};
endmodule
"""
    before, after = text.format("x", "y", "x ^ y"), text.format("n", "m", "n & m & ~n")
    assert "the output q, bit 0 is not proved to be the same" in compared(tmp_path, before, after).differences


def test_tables_are_logic(tmp_path):
    """Yosys makes a memory without writes of a case that only looks something up, and ends in a default."""
    cases = "".join(f"      5'd{i}: q = 8'd{(i * 37 + 11) % 256};\n" for i in range(31)) + "      default: q = 8'd5;\n"
    before = f"""
module Top(input clock, input [4:0] a, output reg [7:0] q);
  always @(*) begin
    casez (a)
{cases}    endcase
  end
endmodule
"""
    assert compared(tmp_path, before, before).same
    found = compared(tmp_path, before, before.replace("5'd9: q = 8'd88", "5'd9: q = 8'd89"))
    assert found.differences == ["the output q, bit 0 is not proved to be the same"]


def test_folder_without_verilog_is_refused(tmp_path):
    with pytest.raises(equivalent.YosysError, match=r"has no HwSwap\.sv"):
        equivalent.engines(str(tmp_path), [], tmp_path)


def test_unknown_commit_is_refused(tmp_path):
    with pytest.raises(equivalent.YosysError, match="neither a folder nor a commit"):
        equivalent.engines("no-such-commit", ["full"], tmp_path)


def test_folders_of_engines_are_found(tmp_path):
    for name in ("full", "grants"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "HwSwap.sv").write_text("")
    assert list(equivalent.engines(str(tmp_path), [], tmp_path)) == ["full", "grants"]
