#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What choosing by one noisy measurement loses, and what timing leaders in pairs at the end gives back.

    scripts/measure/race_leaders.py CACHE.json.gz... [--runs 200] [--measured 200] [--samples 7]

A file is a Kernel Tuner cache with the times of single launches. A run measures random points, each as the median of a few of
its launches. `lowest` takes the lowest of these; `challenges` lets a point lead once its median is 0.5 % lower and it wins in
pairs; `race` then lets up to five, whose interval reaches below the leader's time, race it as docs/search.md has it. A pair is two
launches drawn from both points. What is lost is by the medians of all launches of the points
measured. Launches that are drawn again are not independent of those before, as they are on a device.
"""
import argparse
import gzip
import json
import lzma
import random
import statistics

# kMinGain, about what a comparison takes, kMaxRaced and kKeptOfTemplate of the program.
MIN_GAIN, PAIRS, RACED, KEPT = 0.005, 40, 5, 8


def launches(path):
    opened = gzip.open if path.endswith(".gz") else lzma.open if path.endswith(".xz") else open
    with opened(path, "rt") as file:
        text = file.read()
    try:
        cache = json.loads(text).get("cache")
    except json.JSONDecodeError:
        cache = json.loads(text.rstrip().rstrip(",") + "}}")["cache"]
    points = [entry.get("times") for entry in cache.values()] if cache else []
    return [times for times in points if isinstance(times, list) and len(times) >= 8]


def measure(draw, times, samples):
    drawn = sorted(draw.sample(times, min(samples, len(times))))
    return statistics.median(drawn), drawn[0]  # of so few the interval is the whole range


def in_pairs(draw, challenger, leader):
    """Ratio of times, and quantiles of its median by order statistics: 99 % from both sides, 75 % from above."""
    ratios = sorted(draw.choice(challenger) / draw.choice(leader) for _ in range(PAIRS))
    return statistics.median(ratios), ratios[PAIRS // 2 - 9], ratios[PAIRS // 2 + 8], ratios[PAIRS // 2 + 4]


def one_run(draw, points, measured, samples):
    chosen = draw.sample(points, min(measured, len(points)))
    truth = [statistics.median(times) for times in chosen]
    scores = [measure(draw, times, samples) for times in chosen]
    order = sorted(range(len(chosen)), key=lambda i: scores[i][0])
    leader, score, beaten = 0, scores[0][0], set()
    for i in range(1, len(chosen)):
        if scores[i][0] > score * (1 - MIN_GAIN):
            continue
        ratio, low, high, _ = in_pairs(draw, chosen[i], chosen[leader])
        if low > 1:
            beaten.add(i)
        if high < 1 and ratio <= 1 - MIN_GAIN:
            beaten.add(leader)
            leader, score = i, truth[i]
    challenged = leader
    close = [i for i in order[:KEPT] if i != leader and i not in beaten and scores[i][1] < score]
    for i in close[:RACED]:
        ratio, _, _, likely = in_pairs(draw, chosen[i], chosen[leader])
        if likely < 1 and ratio <= 1 - MIN_GAIN:
            leader = i
    best = min(truth)
    return [truth[i] / best - 1 for i in (order[0], challenged, leader)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--measured", type=int, default=200)
    parser.add_argument("--samples", type=int, default=7)
    given = parser.parse_args()
    print("space,rule,mean_loss,share_above_1_percent,share_above_5_percent")
    for path in given.files:
        points, draw = launches(path), random.Random(1)
        if not points:
            continue
        losses = [one_run(draw, points, given.measured, given.samples) for _ in range(given.runs)]
        for rule, of_rule in zip(("lowest", "challenges", "race"), zip(*losses)):
            shares = [sum(loss > bar for loss in of_rule) / len(of_rule) for bar in (0.01, 0.05)]
            print(f"{path.split('/')[-1].split('.json')[0]},{rule},{statistics.mean(of_rule):.4f},"
                  f"{shares[0]:.3f},{shares[1]:.3f}")


main()
