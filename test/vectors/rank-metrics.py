"""Makes rank-metrics.json with scikit-learn, once: `python rank-metrics.py > rank-metrics.json` (made with 1.9.1).

Each vector is one ranking: documents in falling order of their scores, of which some have a relevance, and a k. Documents
behind the last retrieved one stand for expected matches that were not found; their rank is 0.
"""

import json
import random

import numpy
from sklearn.metrics import (
    dcg_score,
    label_ranking_average_precision_score,
    ndcg_score,
    precision_score,
    recall_score,
)

RANDOM = random.Random(20260601)


def vector(retrieved, missed, k):
    """`retrieved`: relevances by rank, 0 for a wrong document; `missed`: relevances of documents that were not retrieved."""
    truth = numpy.array([retrieved + [0.0] * max(0, k - len(retrieved)) + missed], dtype=float)
    count = truth.shape[1]
    score = numpy.array([[float(count - at) for at in range(count)]])
    relevant = (truth[0] > 0).astype(int)
    answered = numpy.array([1 if at < k else 0 for at in range(count)])
    found = [at for at in range(min(k, len(retrieved))) if retrieved[at] > 0]
    reciprocal = 0.0
    if found:
        first = numpy.zeros((1, count), dtype=int)
        first[0, found[0]] = 1
        reciprocal = float(label_ranking_average_precision_score(first, score))
    expected = [(relevance, at + 1) for at, relevance in enumerate(retrieved) if relevance > 0]
    expected += [(relevance, None) for relevance in missed]
    return {
        "k": k,
        "relevances": [relevance for relevance, _ in expected],
        "ranks": [rank or 0 for _, rank in expected],
        "precision": float(precision_score(relevant, answered, zero_division=0)),
        "recall": float(recall_score(relevant, answered, zero_division=0)),
        "reciprocalRank": reciprocal,
        "dcg": float(dcg_score(truth, score, k=k)),
        "ndcg": float(ndcg_score(truth, score, k=k)),
    }


def main():
    vectors = [
        vector([1.0, 0.0], [], 2),
        vector([0.0, 1.0], [], 2),
        vector([0.0, 0.0], [1.0], 2),
        vector([3.0, 2.0, 3.0, 0.0, 1.0, 2.0], [3.0, 2.0], 6),
        vector([0.0, 0.5, 0.0], [2.5], 3),
        vector([1.0] * 10, [], 10),
        vector([1.0] * 10, [], 3),
    ]
    while len(vectors) < 48:
        k = RANDOM.randint(1, 40)
        retrieved = [RANDOM.choice([0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.25]) for _ in range(RANDOM.randint(1, 60))]
        missed = [RANDOM.choice([1.0, 2.0, 0.5, 3.0]) for _ in range(RANDOM.randint(0, 5))]
        if k > len(retrieved) or not any(retrieved + missed):
            continue
        if len(retrieved) + len(missed) < 2 or sum(1 for each in retrieved if each > 0) + len(missed) > 100:
            continue
        vectors.append(vector(retrieved, missed, k))
    print(json.dumps(vectors))


main()
