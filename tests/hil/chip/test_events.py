"""Simulated time: order, cancelling, clock changes."""

from femtorque.hil.clock import NEVER, Events


def test_events_happen_in_order_of_time_then_of_planning():
    events, seen = Events(), []
    events.at(30, lambda: seen.append("c"))
    events.at(10, lambda: seen.append("a"))
    events.at(10, lambda: seen.append("b"))
    assert events.deadline == 10
    events.now = 20
    events.fire()
    assert seen == ["a", "b"] and events.next() == 30
    events.now = 30
    events.fire()
    assert seen == ["a", "b", "c"] and events.next() == NEVER


def test_a_cancelled_event_does_not_happen():
    events, seen = Events(), []
    events.at(10, lambda: seen.append(1)).cancel()
    events.now = 50
    events.fire()
    assert seen == []


def test_what_happens_may_plan_more_for_the_same_moment():
    events, seen = Events(), []
    events.at(10, lambda: events.at(10, lambda: seen.append(1)))
    events.now = 10
    events.fire()
    assert seen == [1]


def test_a_faster_clock_keeps_times_in_seconds():
    events, seen = Events(), []
    events.now = 100
    events.at(116, lambda: seen.append(1))
    events.rescale(16, 168)
    assert events.next() == 100 + 168
