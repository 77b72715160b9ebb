"""Prints simpn's nanoseconds per firing of M/M/1: the best of several runs."""

import random
import time

from simpn.simulator import SimProblem, SimToken

FIRINGS = 20_000


def mm1():
    net = SimProblem(debugging=False)
    next_, queue, idle = net.add_var("next"), net.add_var("queue"), net.add_var("idle")
    sojourns = []
    next_.put("next")
    idle.put("idle")

    def arrive(token):
        return [SimToken(net.clock), SimToken(token, delay=random.expovariate(1 / 1000))]

    def serve(born, server):
        delay = random.expovariate(1 / 500)
        sojourns.append(net.clock + delay - born)
        return [SimToken(server, delay=delay)]

    net.add_event([next_], [queue, next_], arrive)
    net.add_event([queue, idle], [idle], serve)
    return net


def cost():
    net = mm1()
    start = time.perf_counter_ns()
    for _ in range(FIRINGS):
        net.step()
    return (time.perf_counter_ns() - start) / FIRINGS


random.seed(1)
print(min(cost() for _ in range(5)))
