"""Use of models, summed up."""

from north_lsp.agent.log.messages import StoredUsage


def test_a_sum_is_priced_if_all_are_and_estimated_if_any_is() -> None:
    counted, estimated = StoredUsage(1, 2, 3, 4, 0.5), StoredUsage(10, 20, 30, 40, 1.0, estimated=True)
    free = StoredUsage(100, 200, 300, 400, priced=False)
    assert counted + estimated == StoredUsage(11, 22, 33, 44, 1.5, estimated=True)
    assert sum((counted, estimated, free), StoredUsage()) == StoredUsage(111, 222, 333, 444, 1.5, False, True)


def test_a_sum_has_only_what_can_be_summed_up() -> None:
    assert StoredUsage(1, more={"serviceTier": "x"}) + StoredUsage(2) == StoredUsage(3)
