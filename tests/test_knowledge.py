"""Knowledge graphs: reading, choosing entities, negatives, rankings and recommendations."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorfill
from tensorfill.knowledge import (
    GraphOdds,
    Negatives,
    Ranking,
    Triples,
    entity_ranking,
    most_frequent,
    read_archive,
    recommend,
    relation_ranking,
    sample_negatives,
    to_observations,
)
from tensorfill.knowledge import ranking as ranking_module
from tensorfill.knowledge.facts import FactRows
from tensorfill.models.folded import FoldedLowRank

from .refusal import refuses
from .strategies import generators, random_components

TEXT = "a\tlikes\tb\nb\tknows\tc\nc\tlikes\ta\n"
PARTS = {"train.txt": "a\tr\tb\n", "valid.txt": "b\ts\tc\n", "test.txt": "d\tr\ta\n"}
SMALL = [("a", "likes", "b"), ("b", "knows", "c"), ("c", "likes", "a")]


class Dense:
    """Scores from an array, which remembers how much it was asked for at a time."""

    def __init__(self, values):
        self.values = np.asarray(values, dtype=float)
        self.shape = self.values.shape
        self.asked = []

    def predict(self, coords):
        self.asked.append(len(coords))
        return self.values[tuple(np.asarray(coords).T)]


def graph(coords, entities, relations):
    coords = np.asarray(coords, dtype=int).reshape(-1, 3)
    names = [f"e{i}" for i in range(entities)], [f"r{i}" for i in range(relations)]
    return Triples(coords[:, 0], coords[:, 2], coords[:, 1], *names)


@st.composite
def graphs(draw, max_entities=6, max_relations=4, share=0.6):
    """Some facts about a few entities, and how many of these and of relations there are."""
    entities, relations = draw(st.integers(1, max_entities)), draw(st.integers(1, max_relations))
    every = list(product(range(entities), range(entities), range(relations)))
    most = max(1, int(share * len(every)))
    return graph(draw(st.lists(st.sampled_from(every), min_size=1, max_size=most, unique=True)), entities, relations)


@st.composite
def scored(draw):
    """Scores with many ties, some test facts and some known ones."""
    test, rng = draw(graphs()), draw(generators)
    values = rng.integers(draw(st.integers(1, 6)), size=test.shape).astype(float)
    known = test.with_coords(np.argwhere(rng.random(test.shape) < rng.random()))
    return Dense(values), test, known


def rank_by_hand(scores, own, left_out=()):
    """Return the mean of the best and the worst place that the sort order could give `own`."""
    others = [score for index, score in enumerate(scores) if index != own and index not in left_out]
    best = 1 + sum(score > scores[own] for score in others)
    worst = 1 + sum(score >= scores[own] for score in others)
    return (best + worst) / 2


class TestReading:
    @pytest.mark.parametrize("pack", [lambda text: text, gzip.compress], ids=["plain", "gzip"])
    @pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["lf", "crlf"])
    def test_path_and_file(self, tmp_path, pack, ending):
        content = pack(TEXT.replace("\n", ending).encode())
        path = tmp_path / "facts.dat"
        path.write_bytes(content)
        for source in (path, str(path), io.BytesIO(content)):
            facts = Triples.read(source)
            assert list(facts.labelled()) == SMALL
            assert facts.entities == ("a", "b", "c")
            assert facts.relation_names == ("likes", "knows")
            assert facts.coords.tolist() == [[0, 1, 0], [1, 2, 1], [2, 0, 0]]
            assert facts.shape == (3, 3, 2)

    def test_text_file_and_no_last_newline(self, tmp_path):
        (tmp_path / "facts.tsv").write_text(TEXT.rstrip("\n"))
        with open(tmp_path / "facts.tsv") as file:
            assert list(Triples.read(file).labelled()) == SMALL

    @pytest.mark.parametrize("pack", [lambda text: text, gzip.compress], ids=["plain", "gzip"])
    def test_stream_that_cannot_go_back(self, pack):
        class Stream(io.BytesIO):
            def seekable(self):
                return False

            def seek(self, *_):
                raise OSError

        assert list(Triples.read(Stream(pack(TEXT.encode()))).labelled()) == SMALL

    def test_byte_order_mark_blank_lines_and_odd_labels(self):
        text = "\ufeffa b\tlikes\t\x85é\n\n  \nc.\tlikes\ta b\n"
        facts = Triples.read(io.BytesIO(text.encode()))
        assert facts.entities == ("a b", "\x85é", "c.")
        assert len(facts) == 2

    @pytest.mark.parametrize("line", ["a likes b", "a\tlikes", "a\tlikes\tb\tc", "a\t\tb", "\tlikes\tb", "x" * 100])
    def test_malformed_line(self, tmp_path, line):
        path = tmp_path / "bad.txt"
        path.write_text(f"a\tlikes\tb\n\n{line}\n")
        refuses(ValueError, ["line 3", "bad.txt", "tab"], lambda: Triples.read(path))
        refuses(ValueError, ["line 3", "tab"], lambda: Triples.read(io.StringIO(path.read_text())))

    def test_not_text_and_damaged(self):
        refuses(ValueError, ["UTF-8", "line 2"], lambda: Triples.read(io.BytesIO(b"a\tb\tc\n\xff\tb\tc\n")))
        damaged = gzip.compress(TEXT.encode())[:-9]
        refuses(ValueError, ["damaged"], lambda: Triples.read(io.BytesIO(damaged)))

    def test_empty(self):
        refuses(ValueError, ["at least one line"], lambda: Triples.read(io.StringIO("\n")))

    def test_missing_file(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            Triples.read(tmp_path / "none.txt")


class TestArchive:
    def archive(self, path, parts, folder=""):
        with tarfile.open(path, "w:gz" if str(path).endswith("gz") else "w") as tar:
            # Out of order, as published archives are.
            for name, text in sorted(parts.items()):
                info = tarfile.TarInfo(folder + name)
                info.size = len(text.encode())
                tar.addfile(info, io.BytesIO(text.encode()))
        return path

    @pytest.mark.parametrize("name", ["graph.tar.gz", "graph.tar"])
    @pytest.mark.parametrize("folder", ["", "data/graph/"])
    def test_one_numbering(self, tmp_path, name, folder):
        parts = read_archive(self.archive(tmp_path / name, {**PARTS, "._train.txt": "junk"}, folder))
        assert list(parts) == ["train", "valid", "test"]
        assert {part.entities for part in parts.values()} == {("a", "b", "c", "d")}
        assert {part.relation_names for part in parts.values()} == {("r", "s")}
        assert [part.coords.tolist() for part in parts.values()] == [[[0, 1, 0]], [[1, 2, 1]], [[3, 0, 0]]]

    def test_folder(self, tmp_path):
        for name, text in PARTS.items():
            (tmp_path / name).write_text(text)
        assert list(read_archive(tmp_path)["test"].labelled()) == [("d", "r", "a")]

    def test_empty_part(self, tmp_path):
        assert len(read_archive(self.archive(tmp_path / "g.tar", {**PARTS, "valid.txt": ""}))["valid"]) == 0

    def test_refusals(self, tmp_path):
        some = {name: text for name, text in PARTS.items() if name != "valid.txt"}
        path = self.archive(tmp_path / "some.tar.gz", some)
        refuses(ValueError, ["valid is missing", "some.tar.gz"], lambda: read_archive(path))
        twice = self.archive(tmp_path / "twice.tar.gz", {**PARTS, "train.tsv": "a\tr\tb\n"})
        refuses(ValueError, ["one train file"], lambda: read_archive(twice))
        bad = self.archive(tmp_path / "bad.tar.gz", {**PARTS, "test.txt": "a\tr\tb\nx\n"})
        refuses(ValueError, ["line 2", "test.txt"], lambda: read_archive(bad))
        (tmp_path / "no.tar.gz").write_bytes(b"not an archive")
        refuses(ValueError, ["tar archive", "no.tar.gz"], lambda: read_archive(tmp_path / "no.tar.gz"))


class TestTriples:
    def test_arrays_are_its_own(self):
        heads = np.array([0, 1])
        facts = Triples(heads, [0, 0], [1, 0], ["a", "b"], ["r"])
        heads[0] = 1
        assert facts.heads.tolist() == [0, 1]
        for name in ("heads", "coords"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(facts, name)[0] = 1

    def test_refusals(self):
        labels = ["a", "b"], ["r"]
        refuses(ValueError, ["heads", "from 0 to 1", "2"], lambda: Triples([2], [0], [0], *labels))
        refuses(ValueError, ["relations", "-1"], lambda: Triples([0], [-1], [0], *labels))
        refuses(TypeError, ["tails", "float64"], lambda: Triples([0], [0], [0.5], *labels))
        refuses(ValueError, ["same length", "(2, 1, 1)"], lambda: Triples([0, 1], [0], [0], *labels))
        refuses(ValueError, ["one dimension"], lambda: Triples([[0]], [0], [0], *labels))
        refuses(ValueError, ["distinct", "'a'"], lambda: Triples([0], [0], [0], ["a", "a"], ["r"]))
        refuses(TypeError, ["strings", "1 (int)"], lambda: Triples([0], [0], [0], ["a", 1], ["r"]))
        refuses(TypeError, ["entities", "str"], lambda: Triples([0], [0], [0], "ab", ["r"]))


class TestMostFrequent:
    @given(graphs(), st.integers(1, 7), st.data())
    def test_against_counting_by_hand(self, facts, count, data):
        cut = data.draw(st.integers(0, len(facts)))
        parts = facts.with_coords(facts.coords[:cut]), facts.with_coords(facts.coords[cut:])
        # A Counter lists what is equally common in the order in which it came.
        mentions = Counter(entity for head, _, tail in facts.labelled() for entity in (head, tail))
        unused = [entity for entity in facts.entities if entity not in mentions]
        kept = set([*(entity for entity, _ in mentions.most_common()), *unused][:count])
        few = most_frequent(*parts, count=count)
        for part, small in zip(parts, few, strict=True):
            expected = [fact for fact in part.labelled() if fact[0] in kept and fact[2] in kept]
            assert list(small.labelled()) == expected
            assert small.entities == tuple(entity for entity in facts.entities if entity in kept)
        left = {relation for small in few for _, relation, _ in small.labelled()}
        assert few[0].relation_names == tuple(name for name in facts.relation_names if name in left)

    def test_ties_by_appearance_and_not_by_number(self):
        facts = graph([[3, 2, 0], [1, 0, 0]], 4, 1)
        assert most_frequent(facts, count=2)[0].entities == ("e2", "e3")
        assert most_frequent(facts, count=3)[0].entities == ("e1", "e2", "e3")

    def test_refusals(self):
        facts = graph([[0, 1, 0]], 2, 1)
        refuses(ValueError, ["at least one Triples"], lambda: most_frequent())
        refuses(TypeError, ["list", "*"], lambda: most_frequent([facts]))
        refuses(ValueError, ["same entities", "read_archive"], lambda: most_frequent(facts, graph([], 3, 1)))
        refuses(ValueError, ["count", "0"], lambda: most_frequent(facts, count=0))


class TestNegatives:
    @given(graphs(share=0.4), st.integers(1, 3), generators)
    def test_of_each_fact_never_known_never_twice(self, facts, ratio, rng):
        held_out = facts.with_coords(np.argwhere(rng.random(facts.shape) < 0.2))
        try:
            negatives = sample_negatives(facts, ratio, known=held_out, rng=rng)
        except ValueError as error:
            assert "lower ratio" in str(error)  # noqa: PT017
            return
        assert negatives.shape == facts.shape
        rows = list(map(tuple, negatives.coords.tolist()))
        assert len(rows) == len(set(rows)) == ratio * len(facts)
        assert not set(rows) & set(map(tuple, [*facts.coords.tolist(), *held_out.coords.tolist()]))
        same = negatives.coords == np.repeat(facts.coords, ratio, axis=0)
        assert same[:, 2].all()
        assert (same[:, 0] ^ same[:, 1]).all()

    @given(
        graphs(share=0.4), st.sampled_from([["relation"], ["tail"], "head", ["head", "tail", "relation"]]), generators
    )
    def test_replaces_what_is_asked_for(self, facts, replace, rng):
        try:
            negatives = sample_negatives(facts, replace=replace, rng=rng)
        except ValueError as error:
            assert "lower ratio" in str(error)  # noqa: PT017
            return
        changed = negatives.coords != facts.coords
        assert (changed.sum(axis=1) == 1).all()
        allowed = [
            name in ([replace] if isinstance(replace, str) else replace) for name in ("head", "tail", "relation")
        ]
        assert not changed[:, np.logical_not(allowed)].any()

    def test_uniform_over_relations_too(self):
        facts = graph([[0, 1, 0]], 3, 3)
        draws = (sample_negatives(facts, replace=["relation", "head"], rng=seed) for seed in range(600))
        counts = Counter(tuple(drawn.coords[0].tolist()) for drawn in draws)
        assert set(counts) == {(1, 1, 0), (2, 1, 0), (0, 1, 1), (0, 1, 2)}
        assert max(abs(count - 150) for count in counts.values()) < 50

    def test_uses_every_place_there_is(self):
        # Of the three facts (0, t) only the tail can change, and exactly the six others are left to take.
        facts = graph([[0, tail, 0] for tail in range(3)], 9, 1)
        known = graph([[head, tail, 0] for head in range(1, 9) for tail in range(9)], 9, 1)
        for seed in range(10):
            drawn = sample_negatives(facts, 2, known=known, rng=seed)
            assert sorted(drawn.tails.tolist()) == [3, 4, 5, 6, 7, 8]

    def test_none_left(self):
        full = graph(np.argwhere(np.ones((2, 2, 1))), 2, 1)
        refuses(ValueError, ["(0, 0, 0)", "lower ratio"], lambda: sample_negatives(full, rng=0))

    def test_uniform_over_heads_and_tails(self):
        facts = graph([[0, 1, 0]], 4, 1)
        counts = Counter(tuple(sample_negatives(facts, rng=seed).coords[0].tolist()) for seed in range(600))
        assert set(counts) == {(h, 1, 0) for h in (1, 2, 3)} | {(0, t, 0) for t in (0, 2, 3)}
        assert max(abs(count - 100) for count in counts.values()) < 40

    def test_one_rng_decides(self):
        facts = graph([[0, 1, 0], [2, 3, 1]], 30, 2)
        draws = [sample_negatives(facts, 5, rng=seed).coords.tolist() for seed in (1, 1, 2)]
        assert draws[0] == draws[1] != draws[2]

    def test_known_in_any_form(self):
        facts, more = graph([[0, 0, 0]], 2, 1), graph([[1, 0, 0]], 2, 1)
        for known in (more, [more], {"valid": more}, more.coords, [[1, 0, 0]], iter([facts, more])):
            assert sample_negatives(facts, known=known, rng=0).coords.tolist() == [[0, 1, 0]]

    def test_empty_and_refusals(self):
        facts = graph([[0, 1, 0]], 2, 1)
        assert len(sample_negatives(facts.with_coords([]), rng=0)) == 0
        refuses(TypeError, ["Triples", "list"], lambda: sample_negatives([[0, 1, 0]]))
        refuses(ValueError, ["ratio", "0"], lambda: sample_negatives(facts, 0))
        for wrong in ([], ["mode"], ["head", "head"], "entity"):
            refuses(ValueError, ["replace", "relation"], lambda: sample_negatives(facts, replace=wrong))  # noqa: B023
        refuses(ValueError, ["other relation gives"], lambda: sample_negatives(facts, replace=["relation"]))
        refuses(ValueError, ["known", "(3, 3, 1)"], lambda: sample_negatives(facts, known=graph([], 3, 1)))


KINDS = [("head", "tail"), ("tail",), ("relation",), ("head", "tail", "relation")]


class TestDraws:
    @given(graphs(share=0.2), st.integers(1, 3), st.sampled_from(KINDS))
    def test_as_the_dense_formula(self, facts, ratio, replace):
        truth = np.zeros(facts.shape)
        truth[tuple(facts.coords.T)] = 1
        modes = [("head", "tail", "relation").index(name) for name in replace]
        near = sum(truth.sum(axis=mode, keepdims=True) for mode in modes) * ratio / sum(truth.shape[m] for m in modes)
        anywhere = tuple({0, 1, *modes})
        expected = near + 0.1 * truth.mean(axis=anywhere, keepdims=True) + 1 / truth.size + np.zeros(truth.shape)
        every = np.argwhere(np.ones(truth.shape))
        np.testing.assert_allclose(drawn_as(facts, ratio, replace).draws(every), expected.ravel())

    def test_as_often_as_they_are_drawn(self):
        facts = graph([[0, 1, 0], [0, 2, 0], [3, 4, 1]], 60, 2)
        times = np.zeros(facts.shape)
        for seed in range(300):
            np.add.at(times, tuple(sample_negatives(facts, 2, rng=seed).coords.T), 1 / 300)
        draws = sample_negatives(facts, 2, rng=0).draws
        groups = {"head 0": [[0, t, 0] for t in range(5, 60)], "tail 4": [[h, 4, 1] for h in range(5, 60)]}
        for rows in groups.values():
            assert draws(rows).mean() == pytest.approx(times[tuple(np.array(rows).T)].mean(), rel=0.12)

    def test_of_no_facts(self):
        nothing = sample_negatives(graph([], 2, 3), rng=0)
        assert nothing.draws([[0, 1, 2]]).tolist() == [1 / 12]


def drawn_as(facts, ratio, replace):
    """Return no negatives, that remember to have been drawn so."""
    return Negatives([], [], [], facts.entities, facts.relation_names, facts, ratio, tuple(replace))


class TestGraphOdds:
    @given(graphs(share=0.2), generators)
    def test_adds_the_logarithm_of_the_chance_of_all_draws(self, facts, rng):
        score = Dense(rng.standard_normal(facts.shape))
        parts = [drawn_as(facts, 1, KINDS[0]), drawn_as(facts, 2, KINDS[2])]
        every = np.argwhere(np.ones(facts.shape))
        expected = score.values.ravel() + np.log(1 - np.exp(-parts[0].draws(every) - parts[1].draws(every)))
        np.testing.assert_allclose(GraphOdds(score, parts).predict(every), expected)
        assert GraphOdds(score, parts).shape == facts.shape

    def test_ranks_what_a_fit_to_balanced_negatives_cannot(self):
        # Most facts have relation 0, between any two entities: nothing but its frequency is there to learn.
        rng = np.random.default_rng(0)
        rows = np.unique(
            np.column_stack([rng.integers(60, size=(600, 2)), rng.choice(3, 600, p=[0.8, 0.15, 0.05])]), axis=0
        )
        held = rng.random(len(rows)) < 0.2
        train, test = graph(rows[~held], 60, 3), graph(rows[held], 60, 3)
        negatives = sample_negatives(train, rng=0)
        fit = tensorfill.complete(
            to_observations(train, negatives),
            loss="logistic",
            method="nort",
            penalty="nuclear",
            lam=1.0,
            max_iter=20,
            rng=0,
        )
        odds = GraphOdds(fit, negatives)
        assert relation_ranking(odds, test).hits[1] > 0.7 > relation_ranking(fit, test).hits[1] + 0.2
        best = recommend(odds, head=0, tail=1, k=3)
        assert best.scores[0] == max(odds.predict([[0, 1, r] for r in range(3)]))

    def test_refusals(self):
        facts, score = graph([[0, 1, 0]], 2, 1), Dense(np.zeros((2, 2, 1)))
        refuses(TypeError, ["sample_negatives", "Triples"], lambda: GraphOdds(score, facts))
        refuses(TypeError, ["sample_negatives", "none"], lambda: GraphOdds(score, []))
        refuses(TypeError, ["sample_negatives", "int"], lambda: GraphOdds(score, 3))
        other = drawn_as(graph([], 3, 1), 1, KINDS[0])
        refuses(ValueError, ["(3, 3, 1)"], lambda: GraphOdds(score, [drawn_as(facts, 1, KINDS[0]), other]))


class TestToObservations:
    @given(graphs(share=0.3), generators)
    def test_values(self, facts, rng):
        false = np.argwhere(rng.random(facts.shape) < 0.5)
        false = np.array([row for row in false.tolist() if row not in facts.coords.tolist()]).reshape(-1, 3)
        obs = to_observations(facts, false)
        assert obs.shape == facts.shape
        expected = {
            **{tuple(row): 1.0 for row in facts.coords.tolist()},
            **{tuple(row): -1.0 for row in false.tolist()},
        }
        assert dict(zip(map(tuple, obs.coords.tolist()), obs.values.tolist(), strict=True)) == expected

    def test_arrays_with_a_shape_and_repeats(self):
        obs = to_observations([[0, 1, 0], [0, 1, 0]], [[1, 1, 0]], (2, 2, 1))
        assert obs.values.tolist() == [1.0, -1.0]

    def test_refusals(self):
        facts = graph([[0, 1, 0]], 2, 1)
        refuses(ValueError, ["positive or negative", "(0, 1, 0)"], lambda: to_observations(facts, facts))
        refuses(ValueError, ["shape"], lambda: to_observations([[0, 1, 0]], [[1, 1, 0]]))
        refuses(ValueError, ["three modes"], lambda: to_observations([[0, 1]], [[1, 1]], (2, 2)))
        refuses(ValueError, ["mode 1"], lambda: to_observations([[0, 5, 0]], [], (2, 2, 1)))


class TestRanking:
    def test_by_hand(self):
        ranking = Ranking.of([1, 2, 4, 1.5], hits=(1, 3, 10))
        assert ranking.mrr == pytest.approx((1 + 1 / 2 + 1 / 4 + 2 / 3) / 4)
        assert ranking.hits == {1: 0.25, 3: 0.75, 10: 1.0}
        assert repr(ranking) == "Ranking(MRR 0.604, Hits@1 0.250, Hits@3 0.750, Hits@10 1.000, of 4 ranks)"

    def test_refusals_of_ranks(self):
        refuses(ValueError, ["at least one rank"], lambda: Ranking.of([], (1,)))
        refuses(ValueError, ["at least 1", "0"], lambda: Ranking.of([0, 1], (1,)))
        refuses(ValueError, ["hits", "0"], lambda: Ranking.of([1], (0,)))
        refuses(TypeError, ["hits", "3"], lambda: Ranking.of([1], 3))

    @given(scored(), st.integers(1, 40))
    def test_relations_against_brute_force(self, given_, batch):
        score, test, known = given_
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ranking_module, "BATCH", batch)
            raw, filtered = relation_ranking(score, test), relation_ranking(score, test, known, hits=(2,))
        left_out = set(map(tuple, known.coords.tolist()))
        rows = test.coords.tolist()
        assert raw.ranks.tolist() == [rank_by_hand(score.values[h, t], r) for h, t, r in rows]
        assert filtered.ranks.tolist() == [
            rank_by_hand(score.values[h, t], r, [j for j in range(test.shape[2]) if (h, t, j) in left_out])
            for h, t, r in rows
        ]
        assert raw.mrr == pytest.approx(np.mean([1 / rank for rank in raw.ranks]))
        assert raw.hits == pytest.approx({k: np.mean([rank <= k for rank in raw.ranks]) for k in (1, 3)})
        assert list(filtered.hits) == [2]

    @given(scored(), st.integers(1, 40))
    def test_entities_against_brute_force(self, given_, batch):
        score, test, known = given_
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ranking_module, "BATCH", batch)
            raw, filtered = entity_ranking(score, test, None), entity_ranking(score, test, known)
        facts, entities, values = set(map(tuple, known.coords.tolist())), range(test.shape[0]), score.values
        for ranks, left_out in ((raw.ranks, set()), (filtered.ranks, facts)):
            assert ranks.tolist() == [
                [
                    rank_by_hand(values[:, t, r], h, [e for e in entities if (e, t, r) in left_out]),
                    rank_by_hand(values[h, :, r], t, [e for e in entities if (h, e, r) in left_out]),
                ]
                for h, t, r in test.coords.tolist()
            ]
        assert list(filtered.hits) == [1, 3, 10]
        assert filtered.mrr == pytest.approx(np.mean(1 / filtered.ranks))

    def test_one_score_for_everything_is_in_the_middle(self):
        ranking = entity_ranking(Dense(np.zeros((5, 5, 1))), [[0, 1, 0]], None)
        assert ranking.ranks.tolist() == [[3.0, 3.0]]
        assert ranking.hits[1] == 0

    def test_never_builds_the_tensor(self):
        asked = []

        class Wide:
            shape = (200_000, 200_000, 1_000)

            def predict(self, coords):
                asked.append(len(coords))
                return -coords.sum(axis=1)

        test = [[0, 5, 7], [199_999, 0, 999], [1, 0, 0]]
        assert relation_ranking(Wide(), test).ranks.tolist() == [8, 1000, 1]
        assert entity_ranking(Wide(), test, known=[[0, 0, 7], [5, 5, 7]]).ranks.tolist() == [
            [1, 5],
            [200_000, 1],
            [2, 1],
        ]
        assert max(asked) <= ranking_module.BATCH
        best = recommend(Wide(), head=3, relation=2, k=2, known=[[3, 0, 2]])
        assert list(best) == [(1, -6.0), (2, -7.0)]

    def test_refusals(self):
        score, fact = Dense(np.zeros((2, 2, 3))), [[0, 1, 2]]
        refuses(ValueError, ["at least one fact"], lambda: relation_ranking(score, []))
        refuses(ValueError, ["mode 2", "(0, 1, 3)"], lambda: relation_ranking(score, [[0, 1, 3]]))
        refuses(ValueError, ["test", "(3, 3, 1)"], lambda: relation_ranking(score, graph([[0, 1, 0]], 3, 1)))
        refuses(ValueError, ["known", "(3, 3, 1)"], lambda: entity_ranking(score, fact, graph([[0, 1, 0]], 3, 1)))
        refuses(ValueError, ["three modes"], lambda: relation_ranking(Dense(np.zeros((2, 2))), [[0, 1]]))
        refuses(TypeError, ["predict", "int"], lambda: relation_ranking(3, graph([[0, 1, 0]], 2, 1)))
        refuses(ValueError, ["finite", "nan"], lambda: relation_ranking(Dense(np.full((2, 2, 3), np.nan)), fact))
        refuses(TypeError, ["integers"], lambda: entity_ranking(score, [[0.0, 1.0, 2.0]], None))

        class Bare:
            def predict(self, coords):
                return np.zeros((len(coords), 1))

        refuses(ValueError, ["score.shape", "Triples"], lambda: relation_ranking(Bare(), fact))
        refuses(ValueError, ["one number for each"], lambda: relation_ranking(Bare(), graph(fact, 2, 3)))


class TestRecommend:
    @given(scored(), st.integers(1, 8), st.sampled_from(["head", "tail", "relation"]), st.booleans(), st.integers(0, 3))
    def test_against_brute_force(self, given_, k, asked, labelled, which):
        score, test, known = given_
        head, tail, relation = test.coords[0].tolist()
        query = {"head": head, "tail": tail, "relation": relation}
        place = list(query).index(asked)
        names = test.relation_names if asked == "relation" else test.entities
        taken = set(map(tuple, known.coords.tolist()))

        def fact(index):
            return tuple(index if mode == place else value for mode, value in enumerate(query.values()))

        given_modes = [name for name in query if name != asked]
        along = [None, given_modes, given_modes[:1], given_modes[1:]][which]
        # What the head or tail has already, whatever the relation.
        agreeing = [name for name in given_modes if name != "relation"] if along is None else along
        modes = [list(query).index(name) for name in agreeing]
        has = {row[place] for row in taken if all(row[mode] == fact(0)[mode] for mode in modes)}
        free = [index for index in range(test.shape[place]) if index not in has]
        expected = sorted(free, key=lambda index: (-score.values[fact(index)], index))[:k]
        rest = {name: value for name, value in query.items() if name != asked}
        if labelled:
            rest = {name: f"{'r' if name == 'relation' else 'e'}{value}" for name, value in rest.items()}
        best = recommend(score, **rest, k=k, known=known if labelled else known.coords, along=along)
        assert best.kind == asked
        assert list(best) == [(index, score.values[fact(index)]) for index in expected]
        assert best.labels == (tuple(names[index] for index in expected) if labelled else None)
        assert len(best) == len(expected)
        assert sum(score.asked) <= test.shape[place]

    def test_what_a_user_has_is_not_recommended_in_another_month(self):
        score = Dense(np.arange(24.0).reshape(2, 3, 4))
        ratings = [[0, 2, 1], [1, 1, 0]]  # user, item, month
        assert recommend(score, head=0, relation=3, known=ratings).indices.tolist() == [1, 0]
        exact = recommend(score, head=0, relation=3, known=ratings, along=("head", "relation"))
        assert exact.indices.tolist() == [2, 1, 0]

    def test_the_scores_of_a_fit_put_candidates_in_order_where_its_predictions_are_all_one(self):
        signs = np.einsum("i,j,k->ijk", [1, -1, 1, -1, 1.0], [1, 1, -1, 1.0], [1.0, -1.0])
        signs[0, 0, 0] = np.nan
        fit = tensorfill.complete(signs, loss="logistic", lam=0.01, bounds=(-0.5, 0.5), rng=0)
        best = recommend(fit, head=0, relation=0)
        np.testing.assert_array_equal(best.scores, fit.scores([[0, index, 0] for index in best.indices]))
        assert len(np.unique(best.scores)) == 4

    def test_repr(self):
        score = Dense([[[0.25, 0.5]]])
        assert repr(recommend(score, head=0, tail=0)) == "Recommendations(relation, {1: 0.5, 0: 0.25})"

    def test_refusals(self):
        score, facts = Dense(np.zeros((2, 2, 3))), graph([[0, 1, 2]], 2, 3)
        refuses(ValueError, ["two of", "none"], lambda: recommend(score))
        refuses(ValueError, ["along", "'tail'"], lambda: recommend(score, head=0, relation=0, along=["tail"]))
        refuses(ValueError, ["along", "[]"], lambda: recommend(score, head=0, relation=0, along=[]))
        refuses(ValueError, ["two of", "head"], lambda: recommend(score, head=0))
        refuses(ValueError, ["two of"], lambda: recommend(score, head=0, tail=0, relation=0))
        refuses(ValueError, ["tail", "from 0 to 1", "2"], lambda: recommend(score, head=0, tail=2))
        refuses(TypeError, ["head", "0.5"], lambda: recommend(score, head=0.5, tail=0))
        refuses(ValueError, ["labels", "'e0'"], lambda: recommend(score, head="e0", tail=0))
        refuses(ValueError, ["'e7'", "2 entities"], lambda: recommend(score, head="e7", tail=0, labels=facts))
        refuses(ValueError, ["k", "0"], lambda: recommend(score, head=0, tail=0, k=0))
        refuses(TypeError, ["labels", "list"], lambda: recommend(score, head=0, tail=0, labels=["a"]))
        other = graph([], 3, 3)
        refuses(ValueError, ["labels", "(3, 3, 3)"], lambda: recommend(score, head=0, tail=0, labels=other))


@given(st.lists(st.tuples(*[st.integers(0, 3) | st.integers(2**62, 2**62 + 2)] * 3), max_size=30), generators)
def test_rows_are_found_whatever_their_size(rows, rng):
    known = np.array(rows, dtype=np.int64).reshape(-1, 3)[: len(rows) // 2]
    asked = np.array([*rows, (0, 0, 0)], dtype=np.int64)
    number = FactRows(known).find(asked)
    inside = set(map(tuple, known.tolist()))
    assert [n >= 0 for n in number] == [tuple(row) in inside for row in asked.tolist()]
    by_number = {int(n): tuple(row) for n, row in zip(number, asked.tolist(), strict=True) if n >= 0}
    assert sorted(by_number) == list(range(len(inside)))
    assert set(by_number.values()) == inside


def test_model_and_fit_are_scores():
    rng = np.random.default_rng(0)
    model = FoldedLowRank((7, 7, 3), random_components(rng, (7, 7, 3)), (0.2, 0.3, 0.5))
    facts = graph(np.argwhere(rng.random((7, 7, 3)) < 0.2), 7, 3)
    dense = Dense(model.to_dense())
    assert relation_ranking(model, facts).mrr == pytest.approx(relation_ranking(dense, facts).mrr)
    assert entity_ranking(model, facts, facts).mrr == pytest.approx(entity_ranking(dense, facts, facts).mrr)
    assert len(recommend(model, head="e1", tail="e2", labels=facts)) == 3


def test_what_is_learned_from_a_graph_of_two_camps():
    # All within a camp like each other, and all oppose the other camp.
    camp = np.arange(20) % 2
    rows = [[h, t, int(camp[h] != camp[t])] for h in range(20) for t in range(20)]
    rng = np.random.default_rng(0)
    held = rng.random(len(rows)) < 0.2
    train, test = graph(np.array(rows)[~held], 20, 2), graph(np.array(rows)[held], 20, 2)
    negatives = sample_negatives(train, known=test, rng=0)
    fit = tensorfill.complete(to_observations(train, negatives), smooth=None, centre=False, rng=0)
    assert relation_ranking(fit, test).hits[1] > 0.9


def shared_umls():
    named = os.environ.get("TENSORFILL_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    path = folder / "kg" / "umls.tar.gz"
    if not path.exists():
        pytest.skip(f"{path} is not there; set TENSORFILL_DATA to the folder of the shared data")
    return read_archive(path)


def test_umls():
    parts = shared_umls()
    assert {name: len(part) for name, part in parts.items()} == {"train": 5216, "valid": 652, "test": 661}
    assert parts["train"].shape == (135, 135, 46)
    negatives = sample_negatives(parts["train"], 3, known=parts, rng=0)
    assert len(negatives) == 3 * 5216
    obs = to_observations(parts["train"], negatives)
    assert len(obs) == 4 * 5216
    truth = np.zeros(parts["train"].shape)
    for part in parts.values():
        truth[tuple(part.coords.T)] = 1
    assert entity_ranking(Dense(truth), parts["test"], parts).mrr == 1
    assert entity_ranking(Dense(truth), parts["test"], None).mrr < 1
    assert relation_ranking(Dense(truth), parts["test"], parts).mrr == 1
    few = most_frequent(*parts.values(), count=20)
    assert few[0].shape[:2] == (20, 20)
    assert few[0].shape[2] < 46
