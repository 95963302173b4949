"""Use of models, summed up."""

from north_lsp.agent.log.usage import StoredUsage, usage_aside
from north_lsp.providers.base import Cost, Usage


def test_a_sum_is_priced_if_all_are_and_estimated_if_any_is() -> None:
    counted, estimated = StoredUsage(1, 2, 3, 4, 0.5), StoredUsage(10, 20, 30, 40, 1.0, estimated=True)
    free = StoredUsage(100, 200, 300, 400, priced=False)
    assert counted + estimated == StoredUsage(11, 22, 33, 44, 1.5, estimated=True)
    assert sum((counted, estimated, free), StoredUsage()) == StoredUsage(111, 222, 333, 444, 1.5, False, True)


def test_a_sum_has_only_what_can_be_summed_up() -> None:
    assert StoredUsage(1, more={"serviceTier": "x"}) + StoredUsage(2) == StoredUsage(3)


def test_the_cost_is_stored_by_its_parts() -> None:
    stored = StoredUsage.of(Usage(1, 2, 3, 4, reasoning=1), Cost(0.5, 0.25, 0.125, 0.0625))
    written = stored.to_json()
    assert written["cost"] == {"input": 0.5, "output": 0.25, "cacheRead": 0.125, "cacheWrite": 0.0625, "total": 0.9375}
    assert written["reasoning"] == 1
    assert StoredUsage.from_json(written) == stored
    assert usage_aside({"usage": written, "cost": 0.9375}).split == stored.split


def test_a_sum_has_parts_if_they_are_known_of_all_that_cost_anything() -> None:
    known, free = StoredUsage(cost=1.0, split=Cost(0.75, 0.25)), StoredUsage(priced=False)
    assert (known + known + free).split == Cost(1.5, 0.5)
    assert sum((known, free), StoredUsage()).split == Cost(0.75, 0.25)
    assert (known + StoredUsage(cost=1.0)).split is None


def test_a_cost_of_an_older_log_is_written_back_as_it_was() -> None:
    for cost in ({"total": 0.5}, {"input": 0.0, "output": 0.5, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.5}):
        usage = StoredUsage.from_json({"input": 1, "cost": cost})
        assert usage is not None
        assert usage.to_json()["cost"] == cost
