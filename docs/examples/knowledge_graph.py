"""
A knowledge graph of families
=============================

Facts are triples: head, relation, tail. Known facts are +1, random triples that are not known facts are -1, and the
logistic loss separates them. The facts here are the relations within some families. Some of them are hidden, and the
fit must find them.
"""

import matplotlib.pyplot as plt
import numpy as np

import tensorfill
from tensorfill import knowledge

# %%
# The families
# ------------
# Eight families of three generations.

RELATIONS = ["parent of", "child of", "married to", "sibling of", "grandparent of", "grandchild of"]
facts, people = set(), []


def person(family):
    """Add a person and return their number."""
    people.append(f"{family}{sum(name.startswith(family) for name in people)}")
    return len(people) - 1


def relate(one, relation, other, back):
    """Add a fact and the same fact seen from the other side."""
    facts.add((one, RELATIONS.index(relation), other))
    facts.add((other, RELATIONS.index(back), one))


for family in "ABCDEFGH":
    elders = [person(family), person(family)]
    relate(elders[0], "married to", elders[1], "married to")
    children = [person(family) for _ in range(4)]
    for place, child in enumerate(children):
        for other in children[:place]:
            relate(child, "sibling of", other, "sibling of")
        for elder in elders:
            relate(elder, "parent of", child, "child of")
    for child in children[:3]:
        spouse = person(family)
        relate(child, "married to", spouse, "married to")
        young = [person(family) for _ in range(3)]
        for place, kid in enumerate(young):
            for other in young[:place]:
                relate(kid, "sibling of", other, "sibling of")
            for parent in (child, spouse):
                relate(parent, "parent of", kid, "child of")
            for elder in elders:
                relate(elder, "grandparent of", kid, "grandchild of")

heads, relations, tails = np.array(sorted(facts)).T
everything = knowledge.Triples(heads, relations, tails, people, RELATIONS)
print(everything)

# %%
# Hide some facts, and sample negatives
# -------------------------------------
# Some negatives have another head or tail than a known fact, and others have another relation. Only the second kind
# teaches the fit to distinguish relations. A negative may by chance be one of the hidden facts.

rng = np.random.default_rng(0)
shuffled = rng.permutation(len(everything))
hidden = everything.with_coords(everything.coords[shuffled[:80]])
known = everything.with_coords(everything.coords[shuffled[80:]])

others = knowledge.sample_negatives(known, ratio=10, rng=0)
wrong_relation = knowledge.sample_negatives(known, ratio=2, replace=["relation"], known=others, rng=0)
obs = knowledge.to_observations(known, [others, wrong_relation])
print(obs)

# %%
# Fit and rank
# ------------

fit = tensorfill.complete(obs, loss="logistic", rng=0)
print("ranks:", fit.ranks)
print("relation of a hidden fact:", knowledge.relation_ranking(fit, hidden))
print("head or tail of a hidden fact:", knowledge.entity_ranking(fit, hidden, known=[known, hidden]))

# %%
# The relation between two people is nearly always found. To find the right person among 144 is harder, because siblings
# have nearly the same relatives.
#
# In a graph of which less is known, rank by ``knowledge.GraphOdds(fit, [others, wrong_relation])``. Negatives are
# sampled near facts, and it undoes that: it knows which relations are frequent, and which a person often has.

# %%
# Recommend
# ---------
# The best answers that are not known already. Scores are log odds. By default everything that A0 has in any relation
# would be left out, as suits users and what they bought; here a person may have several relations to another.

for question in ({"head": "A0", "relation": "grandparent of"}, {"head": "A0", "tail": "A4"}):
    print(question)
    print("  ", knowledge.recommend(fit, **question, k=4, known=known, along=list(question)))
print("hidden facts of A0:", sorted(fact for fact in hidden.labelled() if fact[0] == "A0"))

# %%
# Within one family
# -----------------
# Black squares are known facts, open circles are hidden facts, and the colour is the expected value: 1 for a fact, -1
# for none.

members = [number for number, name in enumerate(people) if name.startswith("A")]
fig, axes = plt.subplots(1, 3, figsize=(12, 4.3), layout="constrained", sharey=True)
for ax, relation in zip(axes, ("parent of", "married to", "grandparent of"), strict=True):
    number = RELATIONS.index(relation)
    expected = fit[members, members, number]
    image = ax.imshow(expected, cmap="RdBu_r", vmin=-1, vmax=1)
    for triples, marker, style in (
        (known, "s", {"color": "black", "s": 9}),
        (hidden, "o", {"facecolor": "none", "edgecolor": "black", "s": 70}),
    ):
        there = triples.coords[triples.coords[:, 2] == number]
        there = there[np.isin(there[:, 0], members) & np.isin(there[:, 1], members)] - [members[0], members[0], 0]
        ax.scatter(there[:, 1], there[:, 0], marker=marker, **style)
    ax.set(title=relation, xlabel="tail", xticks=range(0, len(members), 3), yticks=range(0, len(members), 3))
    ax.set_xticklabels([people[m] for m in members[::3]])
    ax.set_yticklabels([people[m] for m in members[::3]])
axes[0].set_ylabel("head")
fig.colorbar(image, ax=axes, label="expected value", shrink=0.8)
