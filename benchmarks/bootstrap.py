"""How long the report's statistics take, compared with two other implementations: `python -m benchmarks.bootstrap`.

8 protocols, 114 tasks x 3 seeds = 342 trials each, 10,000 resamples clustered by task. The peers resample the same
differences: scipy.stats.bootstrap (vectorised, percentile, over the task means; given the same generator it makes the
same draws, so its bounds must be the same), and a loop in plain Python with draws of its own.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import numpy as np
from scipy import stats

from training.statistics import Unit, cluster, compare

PROTOCOLS, TASKS, SEEDS, RESAMPLES = 8, 114, 3, 10_000
Rewards = dict[str, dict[Unit, float]]


def fake_rewards() -> Rewards:
    """Rewards of 0 or 1 in which the seeds of one task agree more than two tasks do."""
    generator = np.random.Generator(np.random.PCG64(0))
    rewards: Rewards = {}
    for number in range(PROTOCOLS):
        chance = generator.beta(1 + number / 2, 2, size=TASKS)
        draws = generator.random((TASKS, SEEDS)) < chance[:, None]
        rewards[f"p{number}"] = {(f"t{t}", s): float(draws[t, s]) for t in range(TASKS) for s in range(SEEDS)}
    return rewards


def task_differences(rewards: Rewards) -> list[np.ndarray]:
    """Mean difference to the first protocol by task, one array of shape (tasks,) a comparison."""
    base = cluster(rewards["p0"])
    return [cluster(group).sums / SEEDS - base.sums / SEEDS for name, group in rewards.items() if name != "p0"]


def ours(rewards: Rewards) -> list[tuple[float, float]]:
    result = compare(rewards, "p0", resamples=RESAMPLES, seed=0)
    return [(c.low or 0.0, c.high or 0.0) for c in result.values()]


def scipy_peer(rewards: Rewards) -> list[tuple[float, float]]:
    found = []
    for values in task_differences(rewards):
        result = stats.bootstrap((values,), np.mean, n_resamples=RESAMPLES, method="percentile", rng=np.random.default_rng(0))
        found.append((result.confidence_interval.low, result.confidence_interval.high))
    return found


def plain_peer(rewards: Rewards) -> list[tuple[float, float]]:
    found = []
    for values in task_differences(rewards):
        generator, numbers = random.Random(0), values.tolist()
        means = sorted(sum(generator.choices(numbers, k=TASKS)) / TASKS for _ in range(RESAMPLES))
        found.append((means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES)]))
    return found


def timed(work: Callable[[Rewards], list[tuple[float, float]]], rewards: Rewards, times: int) -> tuple[float, np.ndarray]:
    """Best wall time of `times` runs in seconds, and the intervals."""
    best, intervals = float("inf"), []
    for _ in range(times):
        start = time.perf_counter()
        intervals = work(rewards)
        best = min(best, time.perf_counter() - start)
    return best, np.array(intervals)


def main() -> None:
    rewards = fake_rewards()
    print(f"{PROTOCOLS} protocols x {TASKS * SEEDS} trials x {RESAMPLES:,} resamples, clustered by {TASKS} tasks")
    seconds, intervals = timed(ours, rewards, 3)
    print(f"training.statistics.compare   {seconds:7.3f} s")
    for name, work in (("scipy.stats.bootstrap", scipy_peer), ("plain Python", plain_peer)):
        peer, theirs = timed(work, rewards, 1)
        apart = 100 * float(np.abs(theirs - intervals).max())
        print(f"{name:24s}  {peer:7.3f} s   {peer / seconds:5.1f}x   bounds differ by at most {apart:.2f} pp")


if __name__ == "__main__":
    main()
