package estimate_test

import (
	"math"
	"testing"

	"github.com/atrium-hq/atrium/domain/estimate"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s = %.9f, want %.9f", what, got, want)
	}
}

func sampleOf(values ...float64) estimate.Sample {
	s := estimate.Sample{Count: int64(len(values))}
	for _, v := range values {
		s.Mean += v / float64(len(values))
	}
	for _, v := range values {
		s.Variance += (v - s.Mean) * (v - s.Mean) / float64(len(values)-1)
	}
	return s
}

// The expected values are those that R prints for t.test, whose default is Welch's test, on data sets of R: the
// examples extra ~ group of sleep (Student's own data, Biometrika 6, 1908) and mpg ~ am of mtcars.
func TestDifferencesOfMeansEqualThoseOfR(t *testing.T) {
	for name, row := range map[string]struct {
		a, b      estimate.Sample
		low, high float64
	}{
		"sleep": {
			sampleOf(0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2),
			sampleOf(1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4), -3.3654832, 0.2054832,
		},
		"mtcars": {
			sampleOf(21.4, 18.7, 18.1, 14.3, 24.4, 22.8, 19.2, 17.8, 16.4, 17.3, 15.2, 10.4, 10.4, 14.7, 21.5, 15.5,
				15.2, 13.3, 19.2),
			sampleOf(21, 21, 22.8, 32.4, 30.4, 33.9, 27.3, 26, 30.4, 15.8, 19.7, 15, 21.4), -11.280194, -3.209684,
		},
	} {
		got := estimate.Means(row.a, row.b)
		near(t, name+": value", got.Value, row.a.Mean-row.b.Mean, 1e-12)
		near(t, name+": low", got.Low, row.low, 1e-6)
		near(t, name+": high", got.High, row.high, 1e-6)
	}
}

// Two samples of the same size and variance have 2n-2 degrees of freedom. The quantiles are those of the t table in the
// NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, to three decimals.
func TestTheIntervalOfMeansUsesTheQuantilesOfStudent(t *testing.T) {
	for freedom, quantile := range map[int64]float64{20: 2.086, 30: 2.042, 60: 2.000, 98: 1.984, 100: 1.984} {
		s := estimate.Sample{Count: freedom/2 + 1, Mean: 3, Variance: 4}
		got := estimate.Means(s, s)
		scale := math.Sqrt(2 * s.Variance / float64(s.Count))
		near(t, "quantile", got.High/scale, quantile, 5e-4)
		near(t, "the other side", got.Low, -got.High, 1e-12)
	}
}

func TestMeansWithoutVarianceDifferExactly(t *testing.T) {
	got := estimate.Means(estimate.Sample{Count: 100, Mean: 5}, estimate.Sample{Count: 100, Mean: 4})
	if got != (estimate.Interval{Value: 1, Low: 1, High: 1}) {
		t.Errorf("difference = %+v", got)
	}
}

// The expected values are those of Newcombe's Table II, method 10, for his examples (a) to (h).
func TestDifferencesOfSharesEqualThoseOfNewcombe(t *testing.T) {
	for _, row := range []struct {
		a, b      estimate.Share
		low, high float64
	}{
		{estimate.Share{Part: 56, Count: 70}, estimate.Share{Part: 48, Count: 80}, 0.0524, 0.3339},
		{estimate.Share{Part: 9, Count: 10}, estimate.Share{Part: 3, Count: 10}, 0.1705, 0.8090},
		{estimate.Share{Part: 6, Count: 7}, estimate.Share{Part: 2, Count: 7}, 0.0582, 0.8062},
		{estimate.Share{Part: 5, Count: 56}, estimate.Share{Part: 0, Count: 29}, -0.0381, 0.1926},
		{estimate.Share{Part: 0, Count: 10}, estimate.Share{Part: 0, Count: 20}, -0.1611, 0.2775},
		{estimate.Share{Part: 0, Count: 10}, estimate.Share{Part: 0, Count: 10}, -0.2775, 0.2775},
		{estimate.Share{Part: 10, Count: 10}, estimate.Share{Part: 0, Count: 20}, 0.6791, 1},
		{estimate.Share{Part: 10, Count: 10}, estimate.Share{Part: 0, Count: 10}, 0.6075, 1},
	} {
		got := estimate.Shares(row.a, row.b)
		near(t, "low", got.Low, row.low, 5e-5)
		near(t, "high", got.High, row.high, 5e-5)
		near(t, "value", got.Value, row.a.Value()-row.b.Value(), 1e-12)
	}
}
