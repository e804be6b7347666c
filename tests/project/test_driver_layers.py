# SPDX-License-Identifier: Apache-2.0
"""The driver's layers: what its files include goes downwards, as the table in docs/driver.md has it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULE = ROOT / "sw/driver/module"
PAGE = ROOT / "docs/driver.md"
MARK = "<!-- driver layers"
GENERATED = "hwswap_map"
"""A header that every file may include: nothing of the driver is below it."""

ALONE = "modules of their own"
"""Files of this row belong to no layer of the driver: they include none of it, and none of it includes them."""

ROW = re.compile(r"^\| (?P<layer>[^|]+?) \| `(?P<stem>\w+)\.[ch]` \|", re.MULTILINE)
DECLARED = re.compile(
    r"^(?:extern [^;(]*?(\w+)(?:\[\w*\])?;|(?!static\b|typedef\b)\w[\w *]*?\b(\w+)\([^;{]*\);)", re.MULTILINE
)
"""A variable or a function that a header says is somewhere: in its own source, or what is above could hide below."""

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def table(page: str) -> dict[str, list[str]]:
    """Return the layers from the highest to the lowest, each with its files' names without what is behind the dot."""
    rows = page.split(MARK, 1)[1].split("\n## ", 1)[0]
    layers: dict[str, list[str]] = {}
    last = None
    for row in ROW.finditer(rows):
        assert row["layer"] == last or row["layer"] not in layers, f"layer {row['layer']} is in two places"
        last = row["layer"]
        layers.setdefault(last, []).append(row["stem"])
    return layers


def complaints(module: Path, layers: dict[str, list[str]]) -> list[str]:
    """Return what is wrong with a folder of sources."""
    names = [stem for stems in layers.values() for stem in stems]
    height = {stem: -number for number, stems in enumerate(layers.values()) for stem in stems}
    layer_of = {stem: layer for layer, stems in layers.items() for stem in stems}
    sources = sorted([*module.rglob("*.c"), *module.rglob("*.h")])
    wrong = [f"{name} is in the table twice" for name in sorted(set(names)) if names.count(name) > 1]
    wrong += [
        f"{name} is in the table and not in the folder" for name in sorted(set(names) - {s.stem for s in sources})
    ]
    for source in sources:
        if source.stem not in layer_of:
            wrong.append(f"{source.name} is in no layer")
            continue
        included = INCLUDE.findall(source.read_text())
        wrong += [f"{source.name} includes {name} twice" for name in sorted(set(included)) if included.count(name) > 1]
        for name in included:
            target = Path(name).stem
            own = target == source.stem and source.suffix == ".c"
            if target == GENERATED or own:
                continue
            if Path(name).suffix != ".h":
                wrong.append(f"{source.name} includes {name}, which is no header")
            elif target not in layer_of:
                wrong.append(f"{source.name} includes {name}, which is in no layer")
            elif ALONE in (layer_of[source.stem], layer_of[target]):
                wrong.append(f"{source.name} includes {name}: one of them is no part of the driver")
            elif height[target] >= height[source.stem]:
                wrong.append(
                    f"{source.name} ({layer_of[source.stem]}) includes {name} ({layer_of[target]}), "
                    "which is not in a layer below"
                )
        if source.suffix == ".h":
            own = source.with_suffix(".c")
            # Definitions, and macros that make one, begin at the beginning of a line and do not end in it.
            text = own.read_text() if own.exists() else ""
            for name in (variable or function for variable, function in DECLARED.findall(source.read_text())):
                if not re.search(rf"^\w[\w *(]*\b{name}\b", text, re.MULTILINE):
                    wrong.append(f"{source.name} declares {name}, which {own.name} does not define")
        header = source.with_suffix(".h")
        if source.suffix == ".c" and header.exists() and header.name not in included:
            wrong.append(f"{source.name} does not include its own {header.name}")
    return wrong


LAYERS = table(PAGE.read_text())


def test_includes_go_downwards():
    assert complaints(MODULE, LAYERS) == []


def test_what_the_kernel_builds_is_the_table():
    built = set(
        re.findall(r"\b(\w+)\.o\b", re.sub(r"^obj-.*$", "", (MODULE / "Makefile").read_text(), flags=re.MULTILINE))
    )
    assert built == {source.stem for source in MODULE.glob("*.c")}


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        ({"low.c": '#include "low.h"\n#include "top.h"\n'}, "low.c (below) includes top.h (above)"),
        ({"low.h": '# include  <linux/types.h>\n\t#include "top.h"\n'}, "low.h (below) includes top.h (above)"),
        ({"low.c": '#include "low.h"\n#include "beside.h"\n'}, "low.c (below) includes beside.h (below)"),
        ({"more.c": ""}, "more.c is in no layer"),
        ({"folder/more.h": ""}, "more.h is in no layer"),
        ({"top.c": '#include "low.c"\n#include "top.h"\n'}, "which is no header"),
        ({"top.c": '#include "other.h"\n#include "top.h"\n'}, "includes other.h, which is in no layer"),
        ({"top.c": '#include "low.h"\n'}, "top.c does not include its own top.h"),
        ({"low.h": "void up(void);\n"}, "low.h declares up, which low.c does not define"),
        ({"low.h": "extern const char *const up[3];\n"}, "low.h declares up, which low.c does not define"),
        ({"beside.h": "int up(int a,\n\t    int b);\n"}, "beside.h declares up, which beside.c does not define"),
        ({"bench.c": '#include "low.h"\n'}, "one of them is no part of the driver"),
    ],
)
def test_what_is_against_the_layers_is_refused(tmp_path, files, complaint):
    good = {
        "top.c": f'#include "{GENERATED}.h"\n#include "low.h"\n#include "top.h"\n',
        "low.c": '#include "low.h"\n',
        "low.h": "",
        "pair.c": '#include "pair.h"\n\nDEFINE_MUTEX(lock);\nint *down(void)\n{\n}\n',
        "pair.h": "struct user;\n\nextern struct mutex lock;\nint *down(void);\nstatic inline void no(void) { }\n",
        "bench.c": f'#include "{GENERATED}.h"\n',
        "top.h": "",
        "beside.h": "",
    }
    layers = {"above": ["top"], "below": ["low", "beside", "pair"], ALONE: ["bench"]}
    for name, text in good.items():
        (tmp_path / name).write_text(text)
    assert complaints(tmp_path, layers) == []
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = complaints(tmp_path, layers)
    assert len(found) == 1
    assert complaint in found[0]


def test_a_row_without_a_file_is_refused(tmp_path):
    assert complaints(tmp_path, {"layer": ["gone"]}) == ["gone is in the table and not in the folder"]


def test_a_layer_in_two_places_is_refused():
    rows = "".join(f"| {layer} | `{name}.c` | x |\n" for layer, name in (("a", "x"), ("b", "y"), ("a", "z")))
    with pytest.raises(AssertionError, match="layer a is in two places"):
        table(f"{MARK} -->\n\n{rows}")
