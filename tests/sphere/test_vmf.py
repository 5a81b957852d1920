"""The von Mises-Fisher functions against mpmath, closed forms, their own derivatives, and random draws."""

import math
import subprocess
import sys
from functools import cache

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, kstest

from parasphere.sphere import vmf

DIMS = (2, 3, 5, 10, 25, 49, 50, 51, 100, 300, 768, 3000)
KAPPAS = (0.0, 1e-6, 1e-3, 0.1, 1.0, 10.0, 50.0, 1e2, 1e3, 1e4, 1e5, 1e7)

dims = st.integers(2, 10_000)
kappas = st.floats(-6, 6).map(lambda exponent: 10.0**exponent)


@cache
def exact(dim):
    """Phi, A and A' at every kappa of the grid, (3, n) floats, correctly rounded."""
    rows = []
    with mpmath.workdps(60):
        half = mpmath.mpf(dim) / 2
        for kappa in map(mpmath.mpf, KAPPAS):
            if kappa == 0:
                area = mpmath.log(2) + half * mpmath.log(mpmath.pi) - mpmath.loggamma(half)
                rows.append((area, 0, 1 / mpmath.mpf(dim)))
                continue
            bessel = mpmath.besseli(half - 1, kappa)
            a = mpmath.besseli(half, kappa) / bessel
            phi = half * mpmath.log(2 * mpmath.pi) + mpmath.log(bessel) - (half - 1) * mpmath.log(kappa)
            rows.append((phi, a, 1 - a * a - (dim - 1) * a / kappa))
        return np.asarray([[float(value) for value in row] for row in rows]).T


def directions(n, dim, seed=0):
    x = np.random.default_rng(seed).standard_normal((n, dim))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


class TestAgainstMpmath:
    @pytest.mark.parametrize("dim", DIMS)
    def test_log_partition(self, dim):
        phi, _, _ = exact(dim)
        error = np.abs(vmf.log_partition(np.asarray(KAPPAS), dim) - phi) / np.maximum(1, np.abs(phi))
        assert error.max() <= 1e-14

    @pytest.mark.parametrize("dim", DIMS)
    def test_mean_length(self, dim):
        _, a, _ = exact(dim)
        np.testing.assert_allclose(vmf.mean_length(np.asarray(KAPPAS), dim), a, rtol=1e-15, atol=0)

    @pytest.mark.parametrize("dim", DIMS)
    def test_mean_length_slope(self, dim):
        _, _, slope = exact(dim)
        rtol = 1e-12 if dim < 50 else 2e-15
        np.testing.assert_allclose(vmf.mean_length_slope(np.asarray(KAPPAS), dim), slope, rtol=rtol, atol=0)

    @pytest.mark.parametrize("dim", DIMS)
    def test_concentration_inverts_the_exact_mean_length(self, dim):
        _, a, _ = exact(dim)
        assert (1 - a).min() > 1e-9
        np.testing.assert_allclose(vmf.concentration(a, dim), KAPPAS, rtol=1e-8, atol=0)

    def test_entropy_at_large_kappa_keeps_its_digits(self):
        # Phi and kappa A are both 1e7 here; in dimension 3 the difference is 1 + log(2 pi / kappa).
        assert vmf.entropy(1e7, 3) == pytest.approx(1 + math.log(2 * math.pi / 1e7), abs=1e-12)


@settings(deadline=None)
@given(kappa=st.floats(1e-2, 300))
def test_closed_form_in_dimension_3(kappa):
    assert vmf.log_partition(kappa, 3) == pytest.approx(
        math.log(4 * math.pi * math.sinh(kappa) / kappa), rel=1e-13, abs=1e-13
    )
    assert vmf.mean_length(kappa, 3) == pytest.approx(1 / math.tanh(kappa) - 1 / kappa, rel=1e-10)
    slope = 1 / kappa**2 - 1 / math.sinh(kappa) ** 2
    assert vmf.mean_length_slope(kappa, 3) == pytest.approx(slope, rel=1e-8, abs=1e-10)


class TestProperties:
    @settings(deadline=None)
    @given(kappa=kappas, dim=dims)
    def test_mean_length_is_increasing_and_below_one(self, kappa, dim):
        assert 0 < vmf.mean_length(kappa, dim) < vmf.mean_length(1.01 * kappa, dim) < 1

    @given(dim=dims)
    def test_at_zero_the_distribution_is_uniform(self, dim):
        assert vmf.mean_length(0.0, dim) == 0
        assert vmf.concentration(0.0, dim) == 0
        assert vmf.entropy(0.0, dim) == vmf.log_partition(0.0, dim)
        assert vmf.mean_length_slope(0.0, dim) == pytest.approx(1 / dim, rel=1e-13)

    @settings(deadline=None)
    @given(kappa=kappas, dim=dims)
    def test_mean_length_is_the_derivative_of_log_partition(self, kappa, dim):
        step = 1e-3 * kappa
        above, below = vmf.log_partition(kappa + step, dim), vmf.log_partition(kappa - step, dim)
        rounding = 1e-14 * max(1, abs(above), abs(below)) / step
        difference = (above - below) / (2 * step)
        assert difference == pytest.approx(vmf.mean_length(kappa, dim), rel=1e-6, abs=rounding)

    @settings(deadline=None)
    @given(kappa=kappas, dim=dims)
    def test_slope_is_the_derivative_of_mean_length(self, kappa, dim):
        step = 1e-3 * kappa
        difference = (vmf.mean_length(kappa + step, dim) - vmf.mean_length(kappa - step, dim)) / (2 * step)
        assert difference == pytest.approx(vmf.mean_length_slope(kappa, dim), rel=1e-5)

    @settings(deadline=None)
    @given(kappa=st.floats(0, 1e8), dim=dims)
    def test_round_trip(self, kappa, dim):
        r = vmf.mean_length(kappa, dim)
        # The second term is what rounding r to float64 costs; it exceeds 1e-8 from 1 - r < 6e-9 on.
        tolerance = 1e-12 + 1.2e-16 / (1 - r)
        assert vmf.concentration(r, dim) == pytest.approx(kappa, rel=tolerance, abs=1e-300)

    @pytest.mark.parametrize("dim", [2, 3, 5, 10, 49, 50, 51, 300])
    def test_newton_takes_enough_steps(self, dim):
        kappa = np.logspace(-4, 2, 601)
        np.testing.assert_allclose(vmf.concentration(vmf.mean_length(kappa, dim), dim), kappa, rtol=2e-12)

    @settings(deadline=None)
    @given(r=st.floats(0, 1), dim=dims)
    def test_banerjee_is_near_the_exact_inverse(self, r, dim):
        newton, banerjee = vmf.concentration(r, dim), vmf.concentration(r, dim, method="banerjee")
        assert banerjee == pytest.approx(newton, rel=0.3 / (dim + 2), abs=1e-300)
        assert 0 <= newton <= vmf.MAX_KAPPA
        assert 0 <= banerjee <= vmf.MAX_KAPPA

    @settings(deadline=None)
    @given(k_p=kappas, k_q=kappas, angle=st.floats(0, math.pi), dim=st.sampled_from([2, 3, 50, 300]))
    def test_divergence_is_positive_and_zero_only_between_equals(self, k_p, k_q, angle, dim):
        p, q = np.eye(dim)[0], np.zeros(dim)
        q[:2] = math.cos(angle), math.sin(angle)
        assert vmf.kl_divergence(p, k_p, p, k_p) == 0
        assert vmf.kl_divergence(p, k_p, q, k_q) >= 0
        k = max(k_p, 0.01)  # below, the divergence drowns in the rounding of Phi(0)
        assert vmf.kl_divergence(p, k, p, 2 * k) > 0
        assert vmf.kl_divergence(p, k, p, k / 2) > 0
        assert vmf.kl_divergence(p, k_p, -p, k_p) == pytest.approx(2 * k_p * vmf.mean_length(k_p, dim))

    @settings(deadline=None)
    @given(k_p=st.floats(0.1, 1e3), k_q=st.floats(0.1, 1e3), angle=st.floats(0, math.pi), dim=dims)
    def test_divergence_is_what_its_definition_says(self, k_p, k_q, angle, dim):
        p, q = np.eye(1, dim)[0], np.zeros(dim)
        q[:2] = math.cos(angle), math.sin(angle)
        cross = vmf.log_partition(k_q, dim) - k_q * vmf.mean_length(k_p, dim) * math.cos(angle)
        expected = cross - vmf.entropy(k_p, dim)
        rounding = 1e-14 * (abs(cross) + abs(vmf.entropy(k_p, dim))) + 1e-12
        assert vmf.kl_divergence(p, k_p, q, k_q) == pytest.approx(expected, rel=1e-10, abs=rounding)


class TestEverywhere:
    kappas = np.concatenate([[0.0, 5e-324, 1e-200], np.logspace(-12, 8, 401)])

    @pytest.mark.parametrize("dim", [2, 3, 4, 7, 23, 24, 25, 26, 48, 49, 50, 51, 99, 512, 2047, 9999, 10_000])
    def test_finite_without_a_warning(self, dim):
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            for function in (vmf.log_partition, vmf.entropy):
                assert np.isfinite(function(self.kappas, dim)).all()
            a = vmf.mean_length(self.kappas, dim)
            assert ((a >= 0) & (a < 1)).all()
            assert (np.diff(a) >= 0).all()
            slope = vmf.mean_length_slope(self.kappas, dim)
            assert ((slope > 0) & (slope <= 1 / dim * (1 + 1e-13))).all()
            r = np.concatenate([np.linspace(0, 1, 301), 1 - np.logspace(-16, -1, 200)])
            kappa = vmf.concentration(r, dim)
            assert ((kappa >= 0) & (kappa <= vmf.MAX_KAPPA)).all()
            assert (np.diff(kappa[:301]) >= 0).all()

    @pytest.mark.parametrize("dim", [2, 3, 25, 50, 300, 10_000])
    def test_finite_far_beyond(self, dim):
        kappa = np.logspace(8, 150, 143)
        for function in (vmf.log_partition, vmf.mean_length, vmf.mean_length_slope, vmf.entropy):
            assert np.isfinite(function(kappa, dim)).all()
        leading = (dim - 1) / 2 * np.log(2 * np.pi / kappa)  # of Phi - kappa, hence of the entropy
        np.testing.assert_allclose(
            vmf.entropy(kappa, dim), leading + (dim - 1) / 2, rtol=1e-12, atol=1e-12 + dim**2 / 1e8
        )

    @pytest.mark.parametrize("dim", [2, 50, 300, 10_000])
    @pytest.mark.parametrize("method", ["newton", "banerjee"])
    def test_a_length_of_one_has_the_largest_concentration(self, dim, method):
        assert vmf.concentration(1.0, dim, method) == vmf.MAX_KAPPA
        np.testing.assert_array_equal(vmf.concentration(np.ones(3), dim, method), vmf.MAX_KAPPA)

    @pytest.mark.parametrize("method", ["newton", "banerjee"])
    def test_rounding_above_one_is_one(self, method):
        for r in (np.nextafter(1, 2), 1 + 1e-12):
            assert vmf.concentration(float(r), 50, method) == vmf.MAX_KAPPA
            np.testing.assert_array_equal(vmf.concentration(np.full(3, r), 50, method), vmf.MAX_KAPPA)


class TestShapesAndTypes:
    functions = (
        vmf.log_partition,
        vmf.mean_length,
        vmf.mean_length_slope,
        vmf.entropy,
        vmf.concentration,
        lambda r, dim: vmf.concentration(r, dim, method="banerjee"),
    )

    @pytest.mark.parametrize("dim", [2, 10, 49, 50, 300])
    @pytest.mark.parametrize("function", functions)
    def test_alone_or_in_a_batch_the_bits_are_the_same(self, function, dim):
        x = np.random.default_rng(0).uniform(0, 1, 203)
        batch = function(x, dim)
        assert batch.tolist() == [function(value, dim) for value in x.tolist()]
        assert batch[:3].tolist() == function(x[:3], dim).tolist()
        assert batch[::-2].tolist() == function(x[::-2], dim).tolist()

    @pytest.mark.parametrize("function", functions)
    def test_types(self, function):
        assert type(function(0.5, 50)) is float
        assert type(function(1, 50)) is float
        assert isinstance(function(np.float32(0.5), 50), np.float32)
        assert isinstance(function(np.asarray(0.5), 50), np.float64)
        x = np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3)
        assert function(x, 50).dtype == np.float32
        np.testing.assert_array_equal(function(x, 50), function(x.astype(float), 50).astype(np.float32))
        assert function(x.T, 50).shape == (3, 2)
        np.testing.assert_array_equal(function(x.T, 50), function(x, 50).T)
        assert function(np.empty((0, 4)), 50).shape == (0, 4)
        assert function([0, 1], np.int64(50)).dtype == np.float64

    def test_log_density_broadcasts(self):
        x, mu = directions(4, 50), directions(3, 50, seed=1)
        kappa = np.asarray([0.0, 10.0, 1000.0])
        together = vmf.log_density(x[:, None], mu, kappa)
        assert together.shape == (4, 3)
        for i, j in np.ndindex(4, 3):
            alone = vmf.log_density(x[i], mu[j], float(kappa[j]))
            assert alone == pytest.approx(kappa[j] * (x[i] @ mu[j]) - vmf.log_partition(kappa[j], 50))
            assert together[i, j] == pytest.approx(alone, rel=1e-12)
        single = vmf.log_density(x.astype(np.float32), mu[0].astype(np.float32), 10.0)
        assert single.dtype == np.float32

    def test_divergence_broadcasts(self):
        p, q = directions(4, 10), directions(3, 10, seed=1)
        together = vmf.kl_divergence(p[:, None], 5.0, q, np.asarray([1.0, 2.0, 3.0]))
        assert together.shape == (4, 3)
        assert together[2, 1] == pytest.approx(vmf.kl_divergence(p[2], 5.0, q[1], 2.0), rel=1e-12)


class TestSample:
    @pytest.mark.parametrize("dim", [2, 3, 10, 300])
    @pytest.mark.parametrize("concentration", [0.0, 0.1, 3.0, 1000.0])  # times dim
    def test_moments(self, dim, concentration):
        n, kappa, mu = 20_000, concentration * dim, directions(1, dim)[0]
        x = vmf.sample(mu, kappa, n, rng=1)
        np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1, rtol=1e-13)
        cosine = x @ mu
        variance = vmf.mean_length_slope(kappa, dim)
        assert abs(cosine.mean() - vmf.mean_length(kappa, dim)) < 4 * math.sqrt(variance / n)
        squares = (cosine - vmf.mean_length(kappa, dim)) ** 2
        assert abs(squares.mean() - variance) < 4 * squares.std() / math.sqrt(n)
        tangent = x - cosine[:, None] * mu  # its mean is 0, alike in all dim - 1 directions
        statistic = n * (dim - 1) * (tangent.mean(axis=0) ** 2).sum() / (1 - cosine**2).mean()
        assert chi2.sf(statistic, dim - 1) > 1e-3

    @pytest.mark.parametrize("dim", [2, 3, 50, 300])
    @pytest.mark.parametrize("kappa", [0.0, 1.0, 40.0, 2000.0])
    def test_distribution_of_the_angle(self, dim, kappa):
        angle = np.linspace(0, math.pi, 400_001)[1:-1]
        log_density = kappa * (np.cos(angle) - 1) + (dim - 2) * np.log(np.sin(angle))
        cdf = np.cumsum(np.exp(log_density - log_density.max()))
        x = vmf.sample(np.eye(dim)[0], kappa, 5000, rng=2)
        drawn = np.arctan2(np.linalg.norm(x[:, 1:], axis=1), x[:, 0])
        assert kstest(drawn, lambda a: np.interp(a, angle, cdf / cdf[-1])).pvalue > 1e-3

    def test_any_mean_direction(self):
        for mu in (np.eye(5)[0], -np.eye(5)[0], np.eye(5)[4], directions(1, 5)[0]):
            x = vmf.sample(mu, 1e6, 100, rng=0)
            assert (x @ mu > 1 - 1e-4).all()

    def test_extreme_concentrations(self):
        mu = directions(1, 50)[0]
        for kappa in (1e8, 1e14):
            x = vmf.sample(mu, kappa, 2000, rng=0)
            spread = kappa * ((x - mu) ** 2).sum(axis=1).mean()
            assert spread == pytest.approx(49, rel=0.03)

    def test_shapes_and_seeds(self):
        mu, kappa = directions(3, 7), np.asarray([1.0, 10.0, 1e6])
        assert vmf.sample(mu[0], 5.0).shape == (7,)
        assert vmf.sample(mu[0], 5.0, 4).shape == (4, 7)
        assert vmf.sample(mu[0], 5.0, (4, 2)).shape == (4, 2, 7)
        assert vmf.sample(mu[0], 5.0, 0).shape == (0, 7)
        assert vmf.sample(mu[0].astype(np.float32), 5.0, 4).dtype == np.float32
        x = vmf.sample(mu, kappa, 1000, rng=0)
        assert x.shape == (1000, 3, 7)
        cosine = np.vecdot(x, mu).mean(axis=0)
        assert np.abs(cosine - vmf.mean_length(kappa, 7)).max() < 0.05
        np.testing.assert_array_equal(x, vmf.sample(mu, kappa, 1000, rng=np.random.default_rng(0)))
        assert (x != vmf.sample(mu, kappa, 1000, rng=1)).any()

    @pytest.mark.parametrize(("dim", "kappa"), [(2, 0.5), (3, 20.0), (300, 500.0), (50, 1e6)])
    def test_entropy_is_the_mean_of_minus_log_density(self, dim, kappa):
        mu = directions(1, dim)[0]
        values = -vmf.log_density(vmf.sample(mu, kappa, 20_000, rng=3), mu, kappa)
        assert abs(values.mean() - vmf.entropy(kappa, dim)) < 4 * values.std() / math.sqrt(values.size)


class TestFit:
    @pytest.mark.parametrize("dim", [2, 3, 50, 300])
    @pytest.mark.parametrize("kappa", [5.0, 1500.0])
    def test_recovers_what_was_planted(self, dim, kappa):
        n, mu = 10_000, directions(1, dim)[0]
        fitted = vmf.fit(vmf.sample(mu, kappa, n, rng=4))
        # Of a high dimension the mean length is overestimated by the noise of the mean's direction.
        a = vmf.mean_length(kappa, dim)
        bias = (dim - 1) / (2 * n * kappa) / vmf.mean_length_slope(kappa, dim)
        error = 1 / math.sqrt(n * vmf.mean_length_slope(kappa, dim))
        assert abs(fitted.kappa - kappa - bias) < 4 * error
        assert math.acos(min(fitted.mean_direction @ mu, 1)) < 2 * math.sqrt(dim / (n * kappa * a))
        assert np.linalg.norm(fitted.mean_direction) == pytest.approx(1)

    def test_weights_count_repetitions(self):
        x, weights = directions(20, 5), np.arange(20)
        weighted, repeated = vmf.fit(x, weights), vmf.fit(np.repeat(x, weights, axis=0))
        assert weighted.kappa == pytest.approx(repeated.kappa, rel=1e-12)
        np.testing.assert_allclose(weighted.mean_direction, repeated.mean_direction, rtol=1e-12)
        assert weighted.kappa != pytest.approx(vmf.fit(x).kappa, rel=1e-3)

    def test_maximises_the_likelihood(self):
        x = vmf.sample(np.eye(10)[0], 30.0, 50, rng=0)
        mu, kappa = vmf.fit(x)
        best = vmf.log_density(x, mu, kappa).sum()
        for other in (0.99 * kappa, 1.01 * kappa):
            assert vmf.log_density(x, mu, other).sum() < best
        assert vmf.log_density(x, np.eye(10)[0], kappa).sum() < best

    def test_degenerate_data(self):
        one = np.asarray([[0.6, 0.8]])
        assert vmf.fit(one).kappa == vmf.MAX_KAPPA
        np.testing.assert_allclose(vmf.fit(np.repeat(one, 1000, axis=0)).mean_direction, one[0])
        opposite = vmf.fit(np.concatenate([one, -one]))
        assert opposite.kappa == 0
        assert opposite.mean_direction.tolist() == [1, 0]

    def test_float32(self):
        fitted = vmf.fit(directions(100, 50).astype(np.float32))
        assert fitted.mean_direction.dtype == np.float32
        assert type(fitted.kappa) is float


E3 = np.eye(3)


class TestErrors:
    @pytest.mark.parametrize("function", [vmf.log_partition, vmf.mean_length, vmf.mean_length_slope, vmf.entropy])
    def test_kappa(self, function):
        for bad in (-1.0, -1e-300, math.nan, math.inf):
            with pytest.raises(ValueError, match=rf"kappa .* not {bad!r}"):
                function(bad, 50)
            with pytest.raises(ValueError, match=rf"kappa .* not {bad!r} at index \[1, 2\]"):
                function(np.asarray([[0.0, 1.0, 2.0], [3.0, 4.0, bad]]), 50)
        with pytest.raises(ValueError, match="complex"):
            function(np.asarray([1j]), 50)

    @pytest.mark.parametrize("dim", [1, 0, -3, 2.5, 50.0, "50", None])
    def test_dim(self, dim):
        with pytest.raises(ValueError, match=f"dim .* not {dim!r}"):
            vmf.mean_length(1.0, dim)
        with pytest.raises(ValueError, match=f"dim .* not {dim!r}"):
            vmf.concentration(0.5, dim)

    @pytest.mark.parametrize("bad", [-0.1, 1 + 1.1e-12, 1.0000001, math.nan])
    def test_mean_length(self, bad):
        with pytest.raises(ValueError, match=rf"mean_length must lie in \[0, 1\], not {bad!r}"):
            vmf.concentration(bad, 50)
        with pytest.raises(ValueError, match=rf"not {bad!r} at index \[1\]"):
            vmf.concentration(np.asarray([0.5, bad]), 50)

    def test_method(self):
        with pytest.raises(ValueError, match="'secant'"):
            vmf.concentration(0.5, 50, method="secant")

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: vmf.log_density(2 * E3, E3[0], 1.0), r"length of x, .* not 2.0 at index \[0\]"),
            (lambda: vmf.log_density(E3, [1.0, 0.0], 1.0), "differ in dimension: 3 and 2"),
            (lambda: vmf.log_density(E3, E3[0], -1.0), "kappa .* not -1.0"),
            (lambda: vmf.log_density(1.0, E3[0], 1.0), r"x must have shape \(..., dim\)"),
            (lambda: vmf.log_density([[1.0]], [1.0], 1.0), r"dim at least 2, not \(1, 1\)"),
            (lambda: vmf.kl_divergence(E3[0], -1.0, E3[1], 1.0), "kappa_p"),
            (lambda: vmf.kl_divergence(E3[0], 1.0, E3[1], math.nan), "kappa_q"),
            (lambda: vmf.kl_divergence(E3[0], 1.0, 0 * E3[1], 1.0), "mean_direction_q.* not 0.0"),
            (lambda: vmf.sample(E3[0] / 2, 1.0), "mean_direction.* not 0.5"),
            (lambda: vmf.sample(E3[0], math.nan), "kappa .* not nan"),
            (lambda: vmf.fit(E3[0]), r"\(n, dim\)"),
            (lambda: vmf.fit(np.empty((0, 3))), "n at least 1"),
            (lambda: vmf.fit(E3 + np.nan), r"not nan at index \[0\]"),
            (lambda: vmf.fit(E3, [1.0, 1.0]), r"shape \(3,\), not \(2,\)"),
            (lambda: vmf.fit(E3, 1.0), r"shape \(3,\), not \(\)"),
            (lambda: vmf.fit(E3, [1.0, -1.0, 1.0]), r"weights .* not -1.0 at index \[1\]"),
            (lambda: vmf.fit(E3, [0.0, 0.0, 0.0]), "not all be 0"),
        ],
    )
    def test_messages(self, call, message):
        with pytest.raises(ValueError, match=message):
            call()


def test_scalars_do_not_wait_for_the_compiler():
    code = "import sys; from parasphere import vmf; vmf.concentration(0.5, 50); print('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
