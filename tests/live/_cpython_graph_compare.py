"""Compares what heapsnap says of fixtures/cpython_graph.py with what that says of itself.

   _cpython_graph_compare.py DIRECTORY
"""
import json
import sys


def main():
    def read(name):
        return json.load(open(sys.argv[1] + "/" + name + ".json"))

    known = {}
    for line in open(sys.argv[1] + "/log"):
        words = line.split()
        known[words[0]] = words[1:]
    tree, live, garbage, value = (read(name) for name in ("tree", "live", "garbage", "value"))
    leaks, info = read("leaks"), read("info")
    bad, node = [], "__main__.Node"

    def expect(holds, text):
        if not holds:
            bad.append(text)

    # Words that the interpreter leaves behind on its stacks, in its free lists and in the unused
    # ends of lists and dictionaries may hold on to some of the lists; allocators may round up.
    truth, found = int(known["TREE"][1]), tree["object"]["retained_words"] * 8
    expect(truth * 0.9 <= found <= truth + 2000,
           "the tree retains %d of %d bytes" % (found, truth))
    expect(tree["object"]["type"] == "dict", "the tree is a " + tree["object"]["type"])
    expect(value["object"]["type"] == "bytes" and value["object"]["reached"], "a value is lost")
    expect(all(field["class"] != "weak" for field in tree["fields"]), "the tree is weak")
    expect(live["object"]["type"] == "list" and live["object"]["reached"], "what lives is lost")
    expect(live["object"]["retained_words"] * 8 > 1000 * 64, "its list retains %d words"
           % live["object"]["retained_words"])
    expect(garbage["object"]["type"] in (node, "Node") and not garbage["object"]["reached"],
           "garbage is reached")
    expect(any(referrer["class"] == "weak" for referrer in garbage["referrers"]),
           "no weak reference leads to the garbage")
    lost = {}
    for group in leaks["groups"]:  # of versions that are not known a class has no module
        name = group["type"]
        key = group["certainty"], name if name not in ("Node", "Held") else "__main__." + name
        lost[key] = lost.get(key, 0) + group["count"]
    n_lost = lost.get(("possible", node), 0)
    expect(1900 <= n_lost <= 2000, "of 2000 garbage nodes %d are lost" % n_lost)
    expect(("possible", "__main__.Held") not in lost, "what lives is a possible leak")
    # interpreters lose a few numbers and names of their own for good when they start
    expect(leaks["certain"]["words"] * 8 < info["words"] * 8 * 0.005,
           "%d words are certain leaks" % leaks["certain"]["words"])
    types = {row["type"]: row["count"] if "count" in row else row["objects"]
             for row in read("types")["types"]}
    for name, least in (("list items", 2000), ("dict keys", 100), ("bytes", 80000)):
        expect(types.get(name, 0) >= least, "%s of type %s" % (types.get(name), name))
    nodes = read("dominators")["nodes"]
    top = max((node for node in nodes if node["depth"] == 1), key=lambda n: n["retained_words"])
    for node in sorted((n for n in nodes if n["depth"] == 1), key=lambda n: -n["retained_words"]):
        print("    %6.2f%% %s" % (100 * node["retained_words"] / info["words"],
                                  node["name"] or node["type"]))
    expect(top["retained_words"] >= tree["object"]["retained_words"], "the tree is not on top")
    print("Python %s: the tree retains %d of %d bytes; %d nodes of garbage, %d words lost for sure"
          % (known["VERSION"][0], found, truth, n_lost,
             leaks["certain"]["words"]))
    for text in bad:
        print("FAILED: " + text)
    sys.exit(bool(bad))


main()
