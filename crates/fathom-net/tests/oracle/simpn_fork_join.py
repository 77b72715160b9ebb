"""A fork and join network by simpn: prints `makespan mean_time` for each replication.

Reads the number of replications and of orders from standard input.
"""

import random
import sys

from simpn.simulator import SimProblem, SimToken


def replication(orders):
    """The instant at which the last order is joined, and the mean time of an order."""
    net = SimProblem(debugging=False)
    arriving, waiting_a, waiting_b = net.add_var("arriving"), net.add_var("waiting_a"), net.add_var("waiting_b")
    clerk, robot = net.add_var("clerk"), net.add_var("robot")
    done_a, done_b = net.add_var("done_a"), net.add_var("done_b")
    joined = net.add_var("joined")
    arriving.put(0)
    for _ in range(2):
        clerk.put("clerk")
    robot.put("robot")
    born, times = {}, []

    def arrive(order):
        born[order] = net.clock
        more = SimToken(order + 1, delay=random.expovariate(1 / 100)) if order + 1 < orders else None
        return [more, SimToken(order), SimToken(order)]

    def write(order, who):
        delay = random.expovariate(1 / 120)
        return [SimToken(order, delay=delay), SimToken(who, delay=delay)]

    def fetch(order, who):
        delay = random.uniform(20, 140)
        return [SimToken(order, delay=delay), SimToken(who, delay=delay)]

    def join(order, _):
        times.append(net.clock - born[order])
        return [SimToken(order)]

    net.add_event([arriving], [arriving, waiting_a, waiting_b], arrive)
    net.add_event([waiting_a, clerk], [done_a, clerk], write)
    net.add_event([waiting_b, robot], [done_b, robot], fetch)
    net.add_event([done_a, done_b], [joined], join, guard=lambda a, b: a == b)
    while len(times) < orders:
        net.step()
    return net.clock, sum(times) / orders


replications, orders = map(int, sys.stdin.read().split())
for seed in range(replications):
    random.seed(seed)
    print(*replication(orders))
