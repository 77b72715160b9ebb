"""State graphs by SNAKES: reads nets as JSON, prints one line of sorted edges per net.

An edge is `state>transition(binding)>state`; a state lists the tokens of each place.
"""

import json
import sys

from snakes.nets import (Expression, Inhibitor, ModeError, MultiArc, PetriNet, Place, Test,
                         Transition, Value, Variable)


class Absent(Inhibitor):
    """An inhibitor arc as SNAKES documents it.

    Firing re-checks each arc, and version 0.9.33 compares the whole binding with the modes of the
    inhibitor arc alone, so that a transition with any variable of its own could never fire.
    """

    def check(self, binding, tokens):
        try:
            self.modes(tokens)
        except ModeError:
            return False
        return True


def guard(spec):
    """The guard as an expression over x0, x1, x2."""
    kind, *rest = spec
    if kind == "all":
        return "True"
    if kind == "equal":
        return "x{} == x{}".format(*rest)
    if kind == "sum":
        variables, modulus, remainder = rest
        return "({}) % {} == {}".format(" + ".join(f"x{i}" for i in range(variables)), modulus, remainder)
    if kind == "less":
        return "x{} < {}".format(*rest)
    raise ValueError(kind)


def token(spec):
    """The arc expression of an output."""
    kind, *rest = spec
    if kind == "same":
        return Expression(f"x{rest[0]}")
    if kind == "sum":
        variables, modulus = rest
        return Expression("({}) % {}".format(" + ".join(f"x{i}" for i in range(variables)), modulus))
    if kind == "constant":
        return Value(rest[0])
    raise ValueError(kind)


def by_place(arcs):
    """Arcs to the same place as one: SNAKES wants them so."""
    grouped = {}
    for place, annotation in arcs:
        grouped.setdefault(place, []).append(annotation)
    for place, annotations in grouped.items():
        yield f"p{place}", annotations[0] if len(annotations) == 1 else MultiArc(annotations)


def build(spec):
    net = PetriNet("random")
    for i, tokens in enumerate(spec["places"]):
        net.add_place(Place(f"p{i}", tokens))
    for number, t in enumerate(spec["transitions"]):
        name = f"t{number}"
        net.add_transition(Transition(name, Expression(guard(t["guard"]))))
        inputs = [(place, Variable(f"x{i}")) for i, place in enumerate(t["inputs"])]
        for place, annotation in by_place(inputs):
            net.add_input(place, name, annotation)
        if t["read"] is not None:
            net.add_input(f"p{t['read']}", name, Test(Variable(f"x{len(inputs)}")))
        if t["inhibit"] is not None:
            place, key = t["inhibit"]
            forbidden = Variable("z") if key is None else Value(key)
            net.add_input(f"p{place}", name, Absent(forbidden))
        for place, annotation in by_place([(place, token(out)) for place, out in t["outputs"]]):
            net.add_output(place, name, annotation)
    return net


def state(net, places):
    return "/".join(",".join(str(x) for x in sorted(net.place(f"p{i}").tokens.items())) for i in range(places))


def graph(net, spec):
    places = len(spec["places"])
    start = net.get_marking()
    first = state(net, places)
    seen, todo, edges = {first}, [(first, start)], set()
    while todo:
        source, marking = todo.pop()
        for number, t in enumerate(spec["transitions"]):
            variables = len(t["inputs"]) + (t["read"] is not None)
            net.set_marking(marking)
            for mode in net.transition(f"t{number}").modes():
                binding = ",".join(str(mode[f"x{i}"]) for i in range(variables))
                net.set_marking(marking)
                net.transition(f"t{number}").fire(mode)
                target = state(net, places)
                edges.add(f"{source}>t{number}({binding})>{target}")
                if target not in seen:
                    seen.add(target)
                    todo.append((target, net.get_marking()))
    return edges


for line in json.load(sys.stdin):
    print(";".join(sorted(graph(build(line), line))))
