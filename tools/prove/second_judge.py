#!/usr/bin/env python3
"""Judges the upper bound of the buckets of a log, or its permits.

Written from docs/reference/call-log.md alone, so that it does not share the mistakes of the judge
in Rust. Prints the faults. Exits with 1 if there are any.

    second_judge.py LOG
"""
import os
import sys
from bisect import bisect_left, bisect_right
from itertools import accumulate
from types import SimpleNamespace

TOKEN = 10**12


class Spans:
    """Spans of time with amounts. Both ends belong to a span."""

    def __init__(self, spans):
        spans = [span for span in spans if span[0] <= span[1]]
        starts, ends = sorted((s, a) for s, _, a in spans), sorted((e, a) for _, e, a in spans)
        self.starts, self.ends = [s for s, _ in starts], [e for e, _ in ends]
        self.started = [0, *accumulate(a for _, a in starts)]
        self.ended = [0, *accumulate(a for _, a in ends)]

    def until(self, instant):
        return self.started[bisect_right(self.starts, instant)]

    def before(self, instant):
        return self.ended[bisect_left(self.ends, instant)]

    def overlapping(self, start, end):
        return self.until(end) - self.before(start)

    def reaches(self, amount, start, end):
        """Reports whether the sum at an instant from start to end is at least this amount."""
        inside = self.starts[bisect_right(self.starts, start):bisect_right(self.starts, end)]
        return any(self.overlapping(instant, instant) >= amount for instant in [start, *inside])


def read(path):
    """Returns the rules, and the callers with their calls and with the ends of their processes."""
    rules = SimpleNamespace(tick=0, skew=0, linger=0, wait=0, ahead=0, buckets=1, evicted=0, lease=0, bucket={}, limit={})
    callers, deaths, dooms, log_end = [], {}, {}, 0
    folder = sorted(os.listdir(path)) if os.path.isdir(path) else None
    for name in [path] if folder is None else [os.path.join(path, it) for it in folder if it.endswith('.log')]:
        process, new = '0', True
        for line in open(name):
            words = line.split()
            if not line.endswith('\n'):
                break
            if words[:1] == ['caller']:
                process, new = words[1], True
            elif words and line[0].isdigit():
                if new:
                    caller, new = SimpleNamespace(process=process, calls={}, times=[]), False
                    callers.append(caller)
                time, what = int(words[0]), words[1]
                log_end = max(log_end, time)
                caller.times.append(time)
                numbers = [0 if word == 'endless' else int(word) for word in words[2:]] + [0, 0, 0]
                if what in ('death', 'doom'):
                    (deaths if what == 'death' else dooms).setdefault(words[2], []).append(time)
                elif what in ('done', 'denied', 'excused', 'undone', 'error', 'unsent'):
                    call = caller.calls[numbers[0]]
                    call.end, call.answer, call.wait = time, what, numbers[1]
                else:
                    caller.calls[numbers[0]] = SimpleNamespace(
                        number=numbers[0], kind=what, start=time, bucket=numbers[1], tokens=numbers[2],
                        last=numbers[3], end=None, answer='unknown', wait=0)
            elif words[:1] == ['bucket']:
                rules.bucket[int(words[1])] = int(words[2]), int(words[3])
            elif words[:1] == ['limit']:
                rules.limit[int(words[1])] = int(words[2])
            elif words and hasattr(rules, words[0]):
                setattr(rules, words[0], int(words[1]))
    for caller in callers:
        after = lambda times, since, default: min((it for it in times.get(caller.process, []) if it >= since), default=default)
        first, last = caller.times[0], caller.times[-1]
        caller.doomed = max(last, after(dooms, first, last))
        caller.dead = max(last, after(deaths, first, log_end))
        for call in caller.calls.values():
            if call.end is None and not rules.limit:
                later = bisect_right(caller.times, call.start)
                call.end = caller.times[later] if later < len(caller.times) else after(deaths, call.start, log_end)
            elif call.end is None:
                call.end = caller.dead
            elif call.answer == 'error':
                call.answer = 'unknown'
            if call.answer == 'unknown':
                call.end += rules.linger
    return rules, callers


def gifts(calls, capacity, rate, rules):
    owed = []
    for call in calls:
        if call.kind in ('charge', 'reserve') and call.answer in ('done', 'cancelled', 'unknown'):
            owed.append((call.start, call.end, call.cost + rate * rules.tick))
        elif call.kind == 'drain' and call.answer in ('done', 'unknown'):
            owed.append((call.start, call.end, max(0, rate * call.last - call.cost) + rate * rules.tick))
    givers = [it for it in calls if it.kind in ('refund', 'reset', 'lost', 'cancel') or it.answer == 'undone']
    givers.sort(key=lambda call: call.start)
    amounts, numbers = Spans(owed), Spans((s, e, 1) for s, e, _ in owed)
    queue, at, ends = 0, 0, sorted((end, amount) for _, end, amount in owed)[::-1]
    for giver in givers:
        while ends and ends[-1][0] < giver.start:
            end, amount = ends.pop()
            queue, at = max(0, queue - rate * (end - at)) + amount, end
        queue, at = max(0, queue - rate * (giver.start - at)), giver.start
        giver.length = rate * (giver.end - giver.start)
        giver.debt = queue + amounts.overlapping(giver.start, giver.end)
        giver.returns = capacity + giver.debt
        if giver.kind not in ('reset', 'lost'):
            giver.returns = min(giver.returns, giver.cost)
        if giver.answer == 'undone' and not numbers.overlapping(giver.start, giver.end):
            giver.returns = min(giver.returns, giver.length)
    returns, found = Spans((it.start, it.end, it.returns) for it in givers), []
    for giver in givers:
        if giver.kind == 'refund':
            amount = giver.returns
        elif giver.kind in ('reset', 'lost'):
            amount = giver.returns + rate * (rules.wait + rules.ahead)
        else:
            since = giver.since if giver.kind == 'cancel' else giver.start
            others = returns.overlapping(since, giver.end) - giver.returns
            others += giver.length if others > 0 and giver.answer == 'undone' else 0
            amount = min(giver.cost, others + rate * rules.wait)
        found.append((giver.start, giver.end + -(-giver.debt // max(rate, 1)) + rules.ahead, amount))
    return Spans(found)


def windows(calls, capacity, rate, rules):
    """Returns the greatest excess and the end of a window for each end of a grant."""
    given = gifts(calls, capacity, rate, rules)
    counted = [(it.end + it.wait, it) for it in calls if it.kind in ('take', 'reserve') and it.answer == 'done']
    charges = [it for it in calls if it.kind == 'charge' and it.answer == 'done' and rules.buckets == 1]
    charges.sort(key=lambda call: -call.end)
    starts = sorted({it.start + it.wait for _, it in counted} | {it.start for it in charges})
    # A node of this tree has the tokens that count from its starts on, and their greatest excess.
    size = 1 << len(starts).bit_length()
    total, best = [0] * 2 * size, [-10**40] * 2 * size
    best[size:size + len(starts)] = [rate * it + given.before(it) - capacity for it in starts]
    for node in range(size - 1, 0, -1):
        best[node] = max(best[2 * node], best[2 * node + 1])

    def count(start, cost):
        """Counts a call in all windows that contain its start, and returns their greatest excess."""
        node = size + bisect_left(starts, start)
        total[node] += cost - rate * rules.tick
        best[node] += cost - rate * rules.tick
        most = best[node]
        while node > 1:
            most = max(most, best[node - 1] + total[node]) if node % 2 else most + total[node + 1]
            node //= 2
            total[node] = total[2 * node] + total[2 * node + 1]
            best[node] = max(best[2 * node] + total[2 * node + 1], best[2 * node + 1])
        return most

    for end, grant in sorted(counted, key=lambda it: it[0]):
        while charges and charges[-1].end < grant.start - rules.ahead:
            charge = charges.pop()
            count(charge.start, charge.cost)
        excess = count(grant.start + grant.wait, grant.cost)
        yield excess - rate * (end + rules.skew + rules.tick) - given.until(end), end


def judge_buckets(rules, callers):
    buckets, faults, sum_over = {number: [] for number in rules.bucket}, [], 0
    for caller in callers:
        for call in caller.calls.values():
            call.cost = call.tokens * TOKEN // 1000
            if call.kind == 'cancel':
                reservation = caller.calls[call.last]
                reservation.answer, call.since = 'cancelled', reservation.start
            for bucket in rules.bucket if call.kind == 'lost' else {call.bucket} & buckets.keys():
                buckets[bucket].append(call)
    for number, calls in buckets.items():
        capacity, rate = (it * rules.buckets for it in rules.bucket[number])
        for call in calls:
            call.wait = call.wait if call.kind == 'reserve' else 0
        asked = [call for call in calls if call.answer != 'unsent']
        over = [it for it in windows(asked, capacity * TOKEN // 1000, rate, rules) if it[0] > 0]
        if over:
            excess, end = max(over, key=lambda it: it[0])
            sum_over += excess
            faults.append(f'(1) bucket {number}: {excess / TOKEN:.3f} tokens too many in the worst window, '
                          f'which ends at {end}; {len(over)} windows, the first at {over[0][1]}')
    return faults if sum_over > rules.evicted * TOKEN // 1000 else []


def judge_permits(rules, callers):
    faults = []
    for key, limit in rules.limit.items():
        certain, possible, changes, denials = [], [], [], []
        for caller in callers:
            releases = {it.last: it for it in caller.calls.values() if it.kind == 'cancel'}
            for call in (it for it in caller.calls.values() if it.kind == 'take' and it.bucket == key):
                release, lease = releases.get(call.number), rules.lease
                if call.answer == 'done':
                    gone = release.start if release else caller.doomed
                    gone = min(gone, call.start + lease) if lease else gone
                    ended = call.end + lease if lease else caller.dead
                    ended = release.end if release and release.answer == 'done' else ended
                    certain.append((call.end, gone, 1))
                    possible.append((call.start, ended, 1))
                    changes += [(call.start, call.end, 1), (gone, ended, 1)]
                elif call.answer == 'unknown':
                    possible.append((call.start, call.end + lease, 1))
                    changes.append(possible[-1])
                elif call.answer == 'denied':
                    denials.append(call)
        held, may, change = Spans(certain), Spans(possible), Spans(changes)
        begun = [it for it, gone, _ in certain if held.until(it) - bisect_right(held.ends, it) > limit]
        few = [it for it in denials if not may.reaches(it.tokens // 1000, it.start, it.end)]
        lost = [it for it in few if not change.reaches(1, it.start, it.end)]
        for rule, count in (1, len(begun)), (2, len(few) - len(lost)), (3, len(lost)):
            faults += [f'({rule}) key {key}: {count} faults'] if count else []
    return faults


if __name__ == '__main__':
    rules, callers = read(sys.argv[1])
    faults = judge_permits(rules, callers) if rules.limit else judge_buckets(rules, callers)
    print('\n'.join(faults) if faults else 'no fault')
    sys.exit(1 if faults else 0)
