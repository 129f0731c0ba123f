"""Writes graph-walks.json: what walks find in random graphs, computed by networkx 3.6.1.

    pip install networkx==3.6.1
    python3 test/vectors/graph-walks.py > test/vectors/graph-walks.json && npx biome format --write test/vectors

The graphs have loops, parallel edges, cycles and edges to nodes that are not there. No walk here meets a limit.
"""

import json
import random

import networkx as nx

CASES = 40
DIRECTIONS = ["outgoing", "incoming", "both"]


def random_graph(draw):
    count = draw.randint(1, 14)
    nodes = [{"id": f"n{at}", "type": draw.choice("abc")} for at in range(count)]
    edges = [
        {
            "id": f"e{at}",
            "sourceId": f"n{draw.randrange(count + 1)}",
            "targetId": f"n{draw.randrange(count + 1)}",
            "predicate": draw.choice("pq"),
        }
        for at in range(draw.randint(0, 30))
    ]
    return {"nodes": nodes, "edges": edges}


def walk(graph, profile, starts):
    kinds = {node["id"]: node["type"] for node in graph["nodes"]}
    known = [start for start in starts if start in kinds]
    wanted = set(profile["nodeTypes"])
    kept = [name for name, kind in kinds.items() if name in known or not wanted or kind in wanted]
    network = nx.MultiDiGraph()
    for edge in graph["edges"]:
        if not profile["predicates"] or edge["predicate"] in profile["predicates"]:
            network.add_edge(edge["sourceId"], edge["targetId"], key=edge["id"])
    network.add_nodes_from(kept)
    network = network.subgraph(kept)
    walked = {
        "outgoing": network,
        "incoming": network.reverse(copy=True),
        "both": network.to_undirected(as_view=False),
    }[profile["direction"]]
    depths = {}
    for start in known:
        for name, depth in nx.single_source_shortest_path_length(walked, start, profile["maxDepth"]).items():
            depths[name] = min(depth, depths.get(name, depth))
    inner = {name for name, depth in depths.items() if depth < profile["maxDepth"]}
    ends = {"outgoing": [0], "incoming": [1], "both": [0, 1]}[profile["direction"]]
    edges = [key for *pair, key in network.edges(keys=True) if any(pair[end] in inner for end in ends)]
    # A start that the filter of nodes refuses is walked from, and is no node of the answer.
    listed = {name: depth for name, depth in sorted(depths.items()) if not wanted or kinds[name] in wanted}
    return {"depths": listed, "edges": sorted(edges)}


def case(seed):
    draw = random.Random(seed)
    graph = random_graph(draw)
    profile = {
        "direction": draw.choice(DIRECTIONS),
        "maxDepth": draw.randint(0, 4),
        "predicates": draw.choice([[], [], ["p"]]),
        "nodeTypes": draw.choice([[], [], ["a", "b"]]),
    }
    starts = [f"n{at}" for at in draw.sample(range(15), draw.randint(1, 3))]
    return {"graph": graph, "profile": profile, "starts": starts, "expected": walk(graph, profile, starts)}


print(json.dumps([case(seed) for seed in range(CASES)]))
