#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which members of a kernel set do well on shapes that it was not made from, by cross-validation over recorded times.

    python3 scripts/cross_validate_sets.py OUT.csv [--splits 20]

Points of gemm that one H200 timed on 80 drawn shapes (experiments/results/2026-11-27_h200_gemm_points and _wide) stand for candidates. Of
the shapes 25 are left out, some of the others are learned from: estimates of the templates' time terms are fitted to them, members are
chosen one by one, each time the one that lowers the loss most, until it is below 1 % or there are 32 (24 for the records set_members and
set_estimates). The loss is that of the member of the least estimate to the best candidate, on the shapes learned from (`guessed` 0), or
on these and on as many shapes as `guessed` says, where estimates stand for times. With `near` shapes more, these are learned from by the
points alone whose estimates are there within `factor` of the least (app/sets/drawn_shapes.cpp). Columns: candidates (starts: those of the
templates; all: 152 points), learned, guessed, towards_mean (how strongly estimates of points of one template are drawn to their mean;
core/sets/time_estimate.cpp has 0.1), near, factor, cost (times taken, in shapes with all points), members, and as geometric means over
shapes left out: of_torch, the speed over PyTorch's; of_best, the best of all points over the choice; of_member, the same of the best
member. --near does these alone. Needs SciPy; some minutes.
"""

import argparse
import csv
import math
import pathlib
import random

import numpy as np
from scipy.optimize import nnls

from compare_ptx import plan_of
from problem_folder import evaluate

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORDS = [ROOT / "experiments/results" / name for name in ("2026-11-27_h200_gemm_points", "2026-11-27_h200_gemm_points_wide")]
EVENT_PAIR_US = 1.85  # around one call, as in those records
LEFT_OUT, MOST, LIMIT = 25, 32, math.log(1.01)
NAMES = dict(SM_COUNT=132, B=1, batch="none", a_layout="row", b_layout="row", gate="none", residual="none", scales="none", dropout="none",
             store="same", sizeof_a=2, sizeof_b=2)


class Recorded:
    """Times in us by candidate and shape, without the event pair, and amounts of the templates' time terms."""

    def __init__(self, guessed):
        self.points, times = {}, []
        for record in RECORDS:
            with open(record / "points.csv") as file:
                for row in csv.DictReader(file):
                    tunables = {name: int(value) for name, value in (pair.split("=") for pair in row["tunables"].split())}
                    self.points[row["point"]] = (row.get("template") or "gemm_wgmma.cu", tunables)
            with open(record / "times.csv") as file:
                times.append({tuple(int(row[axis]) for axis in "MNK"): row for row in csv.DictReader(file)})
        self.shapes = [shape for shape in times[0] if shape in times[1] and all(size % 8 == 0 for size in shape)]
        self.torch = np.array([float(times[0][shape]["torch"]) - EVENT_PAIR_US for shape in self.shapes])
        self.times = np.array([[float((times[0][shape].get(point) or times[1][shape].get(point)) or "inf") - EVENT_PAIR_US
                                for shape in self.shapes] for point in self.points])
        self.plans = {template: plan_of((ROOT / "templates/gemm" / template).read_text()) for template in {template for template, _ in self.points.values()}}
        self.amounts = np.empty((len(self.points), len(self.shapes)), object)
        self.guessed = np.empty((len(self.points), len(guessed)), object)
        for i, (template, tunables) in enumerate(self.points.values()):
            for table, shapes in ((self.amounts, self.shapes), (self.guessed, guessed)):
                for j, shape in enumerate(shapes):
                    table[i, j] = self.amounts_of(template, tunables, shape)

    def amounts_of(self, template, tunables, shape):
        plan, names = self.plans[template], NAMES | tunables | dict(zip("MNK", shape))
        for name, text in plan["let"].items():
            try:
                names[name] = evaluate(text, names)
            except ValueError:  # names another that no term needs
                pass
        return np.array([float(evaluate(text, names)) for text in plan["time_terms"]])

    def starts(self):
        """The candidates that are starts of their templates."""
        found = []
        for i, (template, tunables) in enumerate(self.points.values()):
            plan = self.plans[template]
            defaults = {name: one["default"] if isinstance(one, dict) else one for name, one in plan["tunables"].items()}
            if any(all((defaults | start).get(name) == value for name, value in tunables.items()) for start in plan.get("starts", [])):
                found.append(i)
        return found


def fitted(recorded, learned, towards_mean):
    """By candidate microseconds for each of its terms, of those that were timed on three shapes or more of `learned`, by candidate. Those of one
    template are drawn to the mean of what they have alone, as core/sets/time_estimate.cpp does it, where `towards_mean` is not 0."""
    rows, alone = {}, {}
    for one, shapes in learned.items():
        timed = [j for j in shapes if np.isfinite(recorded.times[one, j])]
        if len(timed) >= 3:
            rows[one] = np.array([recorded.amounts[one, j] / recorded.times[one, j] for j in timed])
            alone[one] = nnls(rows[one], np.ones(len(timed)))[0]
    if not towards_mean:
        return alone
    together = {}
    for template in recorded.plans:
        alike = [one for one in alone if list(recorded.points.values())[one][0] == template]
        if not alike:
            continue
        knows = np.array([(rows[one] > 0).any(0) for one in alike])
        mean = np.array([alone[one] for one in alike]).sum(0) / np.maximum(knows.sum(0), 1)
        weight, known = math.sqrt(towards_mean), mean > 0
        pull = np.diag(weight / np.where(known, mean, 1))[known]
        for one in alike:
            right = np.concatenate([np.ones(len(rows[one])), np.full(len(pull), weight)])
            together[one] = nnls(np.vstack([rows[one], pull]), right)[0]
    return together


def members_of(candidates, estimates, times, guesses):
    """One by one, the one that lowers the loss most. By candidate: estimates and times on shapes learned from, and guesses."""
    best, best_guess = np.min([times[one] for one in candidates], 0), np.min([guesses[one] for one in candidates], 0)
    chosen, members, last = None, [], math.inf
    while len(members) < MOST:
        rated = []
        for one in candidates:
            if one in members:
                continue
            if chosen is None:
                now = (estimates[one], times[one], guesses[one])
            else:
                takes = estimates[one] < chosen[0]
                now = (np.where(takes, estimates[one], chosen[0]), np.where(takes, times[one], chosen[1]),
                       np.minimum(guesses[one], chosen[2]))
            losses = (np.log(now[1] / best).mean(), np.log(now[2] / best_guess).mean() if len(best_guess) else 0.0)
            rated.append((sum(losses), one, losses, now))
        if not rated:
            break
        total, one, losses, now = min(rated, key=lambda each: each[:2])
        if total >= last - 1e-6:
            break
        chosen, last = now, total
        members.append(one)
        if max(losses) <= LIMIT:
            break
    return members


def trial(recorded, candidates, learned_count, guessed_count, towards_mean, seed, near_count=0, factor=1.0):
    places = list(range(len(recorded.shapes)))
    random.Random(seed).shuffle(places)
    others, first, more = np.split(places[:LEFT_OUT + learned_count + near_count], [LEFT_OUT, LEFT_OUT + learned_count])
    timed = {one: list(first) for one in candidates}
    fits = fitted(recorded, timed, towards_mean)

    def estimated(one, table, shapes):
        return np.array([float(table[one, j] @ fits[one]) for j in shapes])

    if near_count:
        expected = {one: estimated(one, recorded.amounts, more) for one in fits}
        least = np.min(list(expected.values()), 0)
        for one, ns in expected.items():
            timed[one] += list(more[ns <= factor * least])
        fits = fitted(recorded, timed, towards_mean)
    learned = list(first) + list(more)
    far = 1e9  # what a candidate that does not take a shape is
    estimates = {one: estimated(one, recorded.amounts, learned) for one in fits}
    times = {}
    for one in fits:
        known = np.where(np.isfinite(recorded.times[one][learned]), recorded.times[one][learned], far)
        times[one] = np.where(np.isin(learned, timed[one]), known, estimates[one])
    guesses = {one: estimated(one, recorded.guessed, range(guessed_count)) for one in fits}
    members = members_of(list(fits), estimates, times, guesses)
    choice = np.argmin([estimated(one, recorded.amounts, others) for one in members], 0)
    taken = np.array([recorded.times[members[place], j] for place, j in zip(choice, others)])

    def mean(ratios):
        return math.exp(np.log(ratios).mean())

    cost = sum(len(shapes) for shapes in timed.values()) / len(candidates)
    return (cost, len(members), mean(recorded.torch[others] / taken), mean(np.min(recorded.times[:, others], 0) / taken),
            mean(np.min(recorded.times[np.ix_(members, others)], 0) / taken))


ALL_POINTS = [(learned, guessed, towards_mean, 0, 1.0) for learned in (10, 20, 35, 55)
              for guessed, towards_mean in ((0, 0), (128, 0), (128, 0.03), (128, 0.1), (128, 0.3), (128, 1))]
NEAR_POINTS = [(learned, 128, 0.1, near, factor) for learned, near, factor in (
    (8, 0, 1.0), (15, 0, 1.0), (23, 0, 1.0), (49, 0, 1.0), (8, 41, 1.1), (8, 41, 1.2), (8, 41, 1.3), (8, 41, 1.5), (15, 34, 1.3), (23, 32, 1.3))]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("output", type=pathlib.Path)
    arguments.add_argument("--splits", type=int, default=20)
    arguments.add_argument("--near", action="store_true")
    options = arguments.parse_args()
    draw = random.Random(7)
    size = lambda: int(math.exp(draw.uniform(math.log(32), math.log(16384)))) // 8 * 8
    recorded = Recorded([(size(), size(), size()) for _ in range(128)])
    with open(options.output, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["candidates", "learned", "guessed", "towards_mean", "near", "factor", "cost", "members", "of_torch", "of_best", "of_member"])
        for name, candidates in (("starts", recorded.starts()), ("all", list(range(len(recorded.points))))):
            for learned, guessed, towards_mean, near, factor in NEAR_POINTS if options.near else ALL_POINTS:
                rows = [trial(recorded, candidates, learned, guessed, towards_mean, seed, near, factor) for seed in range(options.splits)]
                means = np.mean(rows, 0)
                table.writerow([name, learned, guessed, towards_mean, near, factor, f"{means[0]:.1f}", f"{means[1]:.1f}",
                                *(f"{value:.3f}" for value in means[2:])])
                file.flush()


if __name__ == "__main__":
    main()
