import pytest
import torch

from linearise import initialise
from linearise.errors import UserError
from linearise.plan import LayerPlan, as_setting, describe, make_layer, parse, read_setting


def test_a_plan_is_read_and_written():
    made = parse("2*w64k32, k8 ,full,w16", 5, (2, 3), 512)
    assert made == [LayerPlan(32, 64, (2, 3), 512)] * 2 + [LayerPlan(8), None, LayerPlan(0, 16)]
    assert describe(made) == "2*w64k32,k8,full,w16"
    assert read_setting(as_setting(made)) == made
    assert parse("w8k8", 3, (), 64) == [LayerPlan(8, 8, (), 64)] * 3


@pytest.mark.parametrize("text", ["", "x", "w", "k", "full,full", "4*full", "w8k8,,full", "w99999999k1", "9999*full",
                                  "3*", "w1k1"])
def test_a_wrong_plan_is_refused(text):
    with pytest.raises(UserError):
        parse(text, 3, (2, 3), 512)


@pytest.mark.parametrize("plan,n,rows", [
    (LayerPlan(64, 64, (2, 3), 512), 65, 0), (LayerPlan(64, 64, (2, 3), 512), 66, 2 + 8),
    (LayerPlan(64, 64, (2, 3), 512), 512, 64), (LayerPlan(64, 64, (2, 3), 512), 2048, 64),
    (LayerPlan(64, 64, (2, 3), 512), 256, 33), (LayerPlan(64, 64, (2, 3), 0), 10, 64), (LayerPlan(8), 3, 8)])
def test_rows_that_take_part(plan, n, rows):
    assert plan.rows_seen(n) == rows
    assert plan.rows_seen(torch.tensor([n])).tolist() == [rows]


def test_exact_tokens_need_room():
    with pytest.raises(UserError, match="no room"):
        make_layer(1, 8, (2, 3), 64)
    assert make_layer(0, 0, (), 64) is None


@pytest.mark.parametrize("layer", [LayerPlan(12, 8, (2, 3), 64), LayerPlan(12), LayerPlan(64), LayerPlan(100),
                                   LayerPlan(1), LayerPlan(9, 4, (2,), 0)])
def test_pools_cover_each_position_once(layer):
    matrix = initialise.pools(layer, 64)
    exact = initialise.exact_rows(layer)
    assert torch.allclose(matrix.sum(1), torch.ones(layer.k))
    if layer.k - exact <= 64:
        assert ((matrix[exact:] > 0).sum(0) == 1).all()
    assert ((initialise.strides(layer, 64) > 0).sum(1) == 1).all()
