"""The import graph of tensorfill, by folder: who imports whom, as a picture.

python docs/import_graph.py docs/images/imports.png            # of this tree
python docs/import_graph.py before.png --source OTHER/src      # of another one

Every box is a folder, or a module at the top level. Arrows go from what imports to what is imported; an arrow that a
chain of others implies is left out. Lazy imports inside functions count; imports for type checkers only do not. A red
arrow belongs to a cycle.
"""

from __future__ import annotations

import argparse
import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

PACKAGE = "tensorfill"
SOURCE = Path(__file__).parents[1] / "src"


def module_imports(source: Path) -> dict[str, set[str]]:
    """Return for each module of the package the modules that it imports, lazily or not.

    Parameters
    ----------
    source
        The folder that holds the package.
    """
    root = source / PACKAGE
    files = {_name(path, root): path for path in sorted(root.rglob("*.py"))}
    return {
        name: {found for node in _imports(ast.parse(path.read_text())) for found in _targets(node, name, path, files)}
        for name, path in files.items()
    }


def folder_imports(imports: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return the same for folders, and for the modules at the top level."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, others in imports.items():
        if name:
            found[_folder(name)] |= {_folder(other) for other in others if other} - {_folder(name)}
    return dict(found)


def cycles(imports: Mapping[str, set[str]]) -> list[set[str]]:
    """Return the groups of modules that import one another in a circle (Tarjan's algorithm)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[set[str]] = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in sorted(imports.get(name, ())):
            if other not in order:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], order[other])
        if low[name] == order[name]:
            group = set()
            while name not in group:
                group.add(stack.pop())
            if len(group) > 1:
                groups.append(group)

    for name in sorted(imports):
        if name not in order:
            visit(name)
    return groups


def _name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _folder(name: str) -> str:
    return name.partition(".")[0]


def _imports(tree: ast.AST) -> Iterator[ast.ImportFrom]:
    """Return the imports of a module, but for those that only a type checker makes."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.ImportFrom):
            yield node
        else:
            yield from _imports(node)


def _targets(node: ast.ImportFrom, name: str, path: Path, files: Mapping[str, Path]) -> Iterator[str]:
    parts = name.split(".") if name else []
    if path.name != "__init__.py":
        parts = parts[:-1]
    if node.level:
        parts = parts[: len(parts) - node.level + 1] + (node.module.split(".") if node.module else [])
    elif node.module and node.module.split(".")[0] == PACKAGE:
        parts = node.module.split(".")[1:]
    else:
        return
    base = ".".join(parts)
    for each in node.names:
        inner = f"{base}.{each.name}" if base else each.name
        target = inner if inner in files else base
        if target in files and target != name:
            yield target


# The picture


def _levels(imports: Mapping[str, set[str]]) -> dict[str, int]:
    """Return the height of each node above what it imports; the nodes of a cycle share theirs."""
    group = {name: name for name in imports}
    for each in cycles(imports):
        group |= {name: min(each) for name in each}
    levels: dict[str, int] = {}

    def level(name: str) -> int:
        if name not in levels:
            members = [other for other in imports if group[other] == name]
            below = {group[other] for member in members for other in imports[member]} - {name}
            levels[name] = 1 + max((level(other) for other in below), default=-1)
        return levels[name]

    return {name: level(group[name]) for name in imports}


def _without_implied(imports: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return the graph without the arrows that a chain of others implies."""

    def reached(name: str, seen: set[str]) -> set[str]:
        for other in imports[name] - seen:
            seen.add(other)
            reached(other, seen)
        return seen

    everything = {name: reached(name, set()) for name in imports}
    return {
        name: {other for other in others if not any(other in everything[third] for third in others - {other})}
        for name, others in imports.items()
    }


def draw(imports: Mapping[str, set[str]], title: str, file: Path) -> None:
    """Draw folders in rows, what is imported below what imports it; arrows that others imply are left out."""
    from matplotlib.figure import Figure

    levels = _levels(imports)
    rows: dict[int, list[str]] = defaultdict(list)
    for name in sorted(imports):
        rows[levels[name]].append(name)
    width = max(len(row) for row in rows.values())
    places = {}
    for height, row in rows.items():
        for at, name in enumerate(row):
            places[name] = ((at + 0.5) * width / len(row), height)
    shown = _without_implied(imports)
    in_cycle = {(a, b) for group in cycles(imports) for a in group for b in imports[a] & group}
    figure = Figure(figsize=(max(9.0, 1.25 * width), 1.0 + 0.95 * len(rows)), layout="constrained")
    axes = figure.subplots()
    style = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": "0.4"}
    boxes = {
        name: axes.text(x, y, name, ha="center", va="center", fontsize=9, bbox=style, zorder=3).get_bbox_patch()
        for name, (x, y) in places.items()
    }
    for name, others in imports.items():
        for other in others:
            red = (name, other) in in_cycle
            if red or other in shown[name]:
                arrow = {
                    "arrowstyle": "-|>",
                    "color": "#D55E00" if red else "#0072B2",
                    "alpha": 0.9 if red else 0.55,
                    "linewidth": 1.6 if red else 0.9,
                    "patchA": boxes[name],
                    "patchB": boxes[other],
                    "shrinkA": 2,
                    "shrinkB": 3,
                    "connectionstyle": "arc3,rad=0.12",
                }
                axes.annotate("", xy=places[other], xytext=places[name], arrowprops=arrow, zorder=2)
    axes.set(xlim=(0, width), ylim=(-0.6, max(rows) + 0.6))
    axes.set_axis_off()
    axes.set_title(title, fontsize=11)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)


def main() -> None:
    """Draw the graph and say how many cycles it has."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--source", type=Path, default=SOURCE)
    given = parser.parse_args()
    modules = module_imports(given.source)
    folders = folder_imports(modules)
    found = cycles(folders)
    words = "no cycle" if not found else f"{sum(map(len, found))} in cycles (red)"
    edges = sum(map(len, folders.values()))
    draw(folders, f"{len(folders)} folders and top-level modules, {edges} imports among them, {words}", given.output)
    print(f"{len(modules)} modules, {len(folders)} folders and top-level modules, {edges} imports, {words}")
    for group in cycles(modules):
        print("modules in a cycle:", ", ".join(sorted(group)))


if __name__ == "__main__":
    main()
