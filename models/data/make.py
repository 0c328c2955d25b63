"""Makes the bundled data: python3 models/data/make.py, NumPy not needed. Seeds are fixed; the files are committed."""

import csv
import json
import math
import pathlib
import random

HERE = pathlib.Path(__file__).parent


def save(name, **data):
    (HERE / f"{name}.json").write_text(json.dumps(data) + "\n")


def rounded(values, digits=3):
    return [round(v, digits) for v in values]


schools = dict(J=8, y=[28, 8, -3, 7, -1, 1, 18, 12], sigma=[15, 10, 16, 11, 9, 11, 10, 18])
save("eight_schools", **schools)
save("eight_schools_centered", **schools)
save("funnel", D=9)
save("funnel_centered", D=9)
save("std_normal", D=10)

rng = random.Random(11)
n, beta = 200, [0.8, -1.2, 0.5]
x = [rounded([rng.gauss(0, 1) for _ in beta]) for _ in range(n)]
eta = [sum(a * b for a, b in zip(row, beta)) for row in x]
save("glm_logistic", N=n, P=3, X=x, y=[int(rng.random() < 1 / (1 + math.exp(-e))) for e in eta])


def poisson(rate):
    k, p, limit = 0, rng.random(), math.exp(-rate)
    while p > limit:
        k += 1
        p *= rng.random()
    return k


n, beta = 120, [0.4, -0.3]
x = [rounded([rng.gauss(0, 1) for _ in beta]) for _ in range(n)]
exposure = rounded([rng.uniform(0.5, 3) for _ in range(n)], 2)
y = [poisson(e * math.exp(0.7 + sum(a * b for a, b in zip(row, beta)))) for e, row in zip(exposure, x)]
save("glm_poisson", N=n, P=2, X=x, exposure=exposure, y=y)

n = 60
x = rounded([rng.uniform(-3, 3) for _ in range(n)])
save("linear_regression", N=n, x=x, y=rounded([1.5 + 2 * v + rng.gauss(0, 0.8) for v in x]))

j, n = 12, 150
alpha = [rng.gauss(1, 0.7) for _ in range(j)]
group = [1 + i % j for i in range(n)]
x = rounded([rng.gauss(0, 1) for _ in range(n)])
y = rounded([alpha[g - 1] + 0.5 * v + rng.gauss(0, 0.4) for g, v in zip(group, x)])
save("varying_intercepts", N=n, J=j, group=group, x=x, y=y)

# A recording: four people watch two films; a rating every second and two physiological signals on their own clocks.
rows = []
films = {"film-1": 60.0, "film-2": 45.0}
waves = {f: [(rng.gauss(0, 1), rng.uniform(0.02, 0.12), rng.uniform(0, 6.28)) for _ in range(6)] for f in films}


def latent(film, t):
    return sum(a * math.sin(6.283 * f * t + p) for a, f, p in waves[film]) / 1.7


for person in ["ada", "ben", "cleo", "dan"]:
    weights = {"rating": [rng.gauss(1.2, 0.3)], "physio": [rng.gauss(0.8, 0.4), rng.gauss(-0.6, 0.4)]}
    shift = {"rating": [rng.uniform(3, 5)], "physio": [rng.uniform(60, 80), rng.uniform(1, 2)]}
    for film, length in films.items():
        for modality, step, names in [("rating", 1.0, ["valence"]), ("physio", 0.75, ["heart_rate", "skin"])]:
            if person == "dan" and film == "film-2" and modality == "physio":
                continue
            t = rng.choice([0.0, 0.5])
            while t <= length:
                gap = person == "ben" and film == "film-1" and 20 < t < 30
                for f, name in enumerate(names):
                    value = shift[modality][f] + weights[modality][f] * latent(film, t) + rng.gauss(0, 0.4)
                    text = "n/a" if rng.random() < 0.02 else f"{value:.3f}"
                    if not gap:
                        rows.append([person, film, modality, name, f"{t:g}", text])
                t += step
with open(HERE / "recording.csv", "w", newline="") as file:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["participant", "run", "modality", "feature", "time", "value"])
    writer.writerows(rows)

rng = random.Random(21)
n = 200
y = [rng.gauss(-1.5, 0.6) if rng.random() < 0.35 else rng.gauss(1.8, 1.0) for _ in range(n)]
save("gaussian_mixture", N=n, y=rounded(y))

j, n = 12, 240
people = []
for _ in range(j):
    a, b = rng.gauss(0, 1), rng.gauss(0, 1)
    people.append((1 + 0.8 * a, 0.5 + 0.5 * (0.6 * a + 0.8 * b)))
group = [1 + i % j for i in range(n)]
x = rounded([rng.gauss(0, 1) for _ in range(n)])
y = rounded([people[g - 1][0] + people[g - 1][1] * v + rng.gauss(0, 0.5) for g, v in zip(group, x)])
save("varying_slopes", N=n, J=j, group=group, x=x, y=y)


def logistic_draw():
    u = rng.random()
    return math.log(u / (1 - u))


n, beta, cuts = 250, [1.1, -0.7], [-1.2, 0.3, 1.6]
x = [rounded([rng.gauss(0, 1) for _ in beta]) for _ in range(n)]
scores = [sum(a * b for a, b in zip(row, beta)) + logistic_draw() for row in x]
save("ordered_logit", N=n, P=2, K=4, X=x, y=[1 + sum(s > c for c in cuts) for s in scores])

n = 200
x = rounded([rng.gauss(0, 1) for _ in range(n)])
y = [0 if rng.random() < 0.3 else poisson(math.exp(0.8 + 0.5 * v)) for v in x]
save("zero_inflated_poisson", N=n, x=x, y=y)

n = 120
treatment = [i % 2 for i in range(n)]
times = [math.exp(2 + 0.5 * t) * (-math.log(1 - rng.random())) ** (1 / 1.4) for t in treatment]
ends = [rng.uniform(4, 20) for _ in range(n)]
seen = rounded([max(min(t, e), 0.01) for t, e in zip(times, ends)])
save("survival", N=n, time=seen, lost=[int(t > e) for t, e in zip(times, ends)], treatment=treatment)
# Time series, curves, tests and sparse regressions.
rng = random.Random(23)
n, y = 120, [1.0]
while len(y) < n:
    y.append(0.6 + 0.7 * y[-1] + rng.gauss(0, 0.5))
save("ar1", N=n, y=rounded(y))

n, y, error = 150, [], 0.0
while len(y) < n:
    new = rng.gauss(0, 0.6)
    y.append(1.0 + 0.6 * (y[-1] if y else 1.0) + 0.4 * error + new)
    error = new
save("arma11", N=n, y=rounded(y))

n, y, variance = 200, [], 1.0
while len(y) < n:
    y.append(0.5 + math.sqrt(variance) * rng.gauss(0, 1))
    variance = 0.2 + 0.3 * (y[-1] - 0.5) ** 2 + 0.5 * variance
save("garch11", N=n, y=rounded(y), sigma1=1.0)

n, y, state = 100, [], 0
while len(y) < n:
    state = state if rng.random() < [0.85, 0.9][state] else 1 - state
    y.append([-1.0, 3.0][state] + rng.gauss(0, 1))
save("hmm", N=n, K=2, y=rounded(y))

n = 40
x = sorted(rounded([rng.uniform(0, 10) for _ in range(n)], 2))
save("gp_regression", N=n, x=x, y=rounded([1.5 * math.sin(v) + rng.gauss(0, 0.4) for v in x]))
n = 15
x = [float(2 * i) for i in range(n)]
save("gp_poisson", N=n, x=x, k=[poisson(math.exp(2 + 1.5 * math.sin(v / 5))) for v in x])

p, i = 40, 10
ability = [rng.gauss(0, 1) for _ in range(p)]
items = [(rng.gauss(0, 1), math.exp(rng.gauss(0, 0.4))) for _ in range(i)]
rows = [(a, b) for a in range(p) for b in range(i)]
right = [int(rng.random() < 1 / (1 + math.exp(-items[b][1] * (ability[a] - items[b][0])))) for a, b in rows]
save("item_response", N=p * i, P=p, I=i, person=[a + 1 for a, _ in rows], item=[b + 1 for _, b in rows], y=right)

n, y, h = 150, [], -1.0
while len(y) < n:
    y.append(math.exp(h / 2) * rng.gauss(0, 1))
    h = -1 + 0.95 * (h + 1) + rng.gauss(0, 0.25)
save("stochastic_volatility", N=n, y=rounded(y))

n, beta = 120, [0.5, -0.4]
x = [rounded([rng.gauss(0, 1) for _ in beta]) for _ in range(n)]
rates = [math.exp(1 + sum(a * b for a, b in zip(row, beta))) * rng.gammavariate(3, 1 / 3) for row in x]
save("negative_binomial", N=n, P=2, X=x, y=[poisson(rate) for rate in rates])

n, beta = 60, [2.0, -1.5] + 18 * [0.0]
x = [rounded([rng.gauss(0, 1) for _ in beta]) for _ in range(n)]
save("horseshoe", N=n, P=20, X=x, y=rounded([sum(a * b for a, b in zip(row, beta)) + rng.gauss(0, 1) for row in x]))
