# SPDX-License-Identifier: Apache-2.0
"""Proofs: errors are found and shown, and a proof that cannot fail is noticed."""

import dataclasses
import shutil

import pytest
from hwswap.project import paths
from hwswap.verify import proof_list, proofs, yosys

PARTS = paths.BUILD / "proof-rtl"
FINDER = next(proof for proof in proof_list.PROOFS if proof.name == "finder")


def with_source(tmp_path, monkeypatch, old: str, new: str) -> None:
    """Use a copy of the finder's specification in which something is changed."""
    folder = tmp_path / "specification"
    shutil.copytree(proofs.SOURCES, folder)
    text = (folder / "finder.sv").read_text()
    assert text.count(old) == 1
    (folder / "finder.sv").write_text(text.replace(old, new))
    monkeypatch.setattr(proofs, "SOURCES", folder)


def test_properties_go_by_their_names():
    assert proofs.property_of("member[2].links_next") == "links"
    assert proofs.property_of("fits") == "fits"
    assert proofs.property_of("dut.assert__chisel3_builtin_3") == proofs.OWN


def test_the_cores_specification_fits_it(tmp_path):
    """Its proofs take hours and are seldom run; those of the other parts are part of the short form."""
    core = next(proof for proof in proof_list.PROOFS if proof.name == "core")
    assert "twice" in proofs.Session(core, PARTS, tmp_path).prepare()


def test_a_difference_is_shown_as_waves(tmp_path, monkeypatch):
    """The finder against a specification that lets a run begin at the slot itself."""
    with_source(tmp_path, monkeypatch, "(whole || at > last)", "(whole || at >= last)")
    verdicts = proofs.prove(FINDER, PARTS, tmp_path, 1, lambda text: None)
    failed = [verdict for verdict in verdicts if verdict.result == "failed"]
    assert failed
    trace = tmp_path / "finder" / "all.vcd"
    assert {verdict.trace for verdict in failed} == {str(trace)}
    assert "$enddefinitions" in trace.read_text()
    assert not any(proofs.good(verdict) for verdict in verdicts)


def test_a_property_that_says_nothing_is_noticed(tmp_path, monkeypatch):
    """With an assumption that nothing fulfils, all is proved, and no mutant breaks anything."""
    with_source(
        tmp_path, monkeypatch, "assume (!find);", "assume (!find); always_ff @(posedge clock) assume (!running);"
    )
    verdicts = proofs.prove(FINDER, PARTS, tmp_path, 1, lambda text: None)
    assert {verdict.result for verdict in verdicts} == {"unbounded"}
    assert not any(proofs.good(verdict) for verdict in verdicts)


def test_one_assertion_that_says_nothing_is_named_among_others_of_its_property(tmp_path, monkeypatch):
    with_source(tmp_path, monkeypatch, "endmodule", "always_comb sound_always : assert (find || !find);\nendmodule")
    verdicts = {verdict.name: verdict for verdict in proofs.prove(FINDER, PARTS, tmp_path, 1, lambda text: None)}
    assert verdicts["sound"].breakable
    assert verdicts["sound"].idle == ["sound_always"]
    assert not proofs.good(verdicts["sound"])
    assert all(proofs.good(verdict) for name, verdict in verdicts.items() if name != "sound")


def test_what_is_asked_of_neighbours_is_one_of_the_parts_assertions(tmp_path):
    slave = next(proof for proof in proof_list.PROOFS if proof.name == "axil")
    asking = dataclasses.replace(slave, neighbours=("the moon is full",))
    with pytest.raises(yosys.YosysError, match="says 'the moon is full'"):
        proofs.prove(asking, PARTS, tmp_path, 1, lambda text: None)


def test_says_with_sources_named_from_yosys_folder_finds_the_message(tmp_path):
    """The proof's folder and the emitted parts have a folder above them in common, as clone and cache at home have."""
    slave = next(proof for proof in proof_list.PROOFS if proof.name == "axil")
    parts = tmp_path / "cache" / "proof-rtl"
    shutil.copytree(PARTS, parts)
    session = proofs.Session(slave, parts, tmp_path / "clone")
    own = session.prepare()[proofs.OWN]
    assert '"../' in (session.folder / "flat.il").read_text()
    assert not {session.says(cell) for cell in own} & set(own)


@pytest.mark.parametrize(
    "proof", [proof for proof in proof_list.PROOFS if proof.neighbours], ids=lambda proof: proof.name
)
def test_what_is_asked_of_neighbours_is_proved_in_the_core(proof):
    core = (PARTS / "core.sv").read_text()
    assert all(f"Assertion failed: {message}\\n" in core for message in proof.neighbours)


def test_too_little_time_is_no_proof(tmp_path, monkeypatch):
    monkeypatch.setattr(proofs, "LIMIT", 0.01)
    verdicts = proofs.prove(FINDER, PARTS, tmp_path, 1, lambda text: None)
    assert {verdict.result for verdict in verdicts} == {"unknown"}


def test_an_error_in_a_specification_is_said(tmp_path, monkeypatch):
    with_source(tmp_path, monkeypatch, "endmodule", "")
    with pytest.raises(yosys.YosysError, match="elaboration failed"):
        proofs.prove(FINDER, PARTS, tmp_path, 1, lambda text: None)
