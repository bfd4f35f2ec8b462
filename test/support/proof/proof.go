// Package proof controls how thorough tests are. "make test" takes few samples and asserts no durations; "make prove"
// takes all samples and asserts durations.
package proof

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// Running reports whether this is make prove, which sets ATRIUM_PROVE.
func Running() bool { return os.Getenv("ATRIUM_PROVE") != "" }

// Sample returns few in "make test" and all in "make prove". It is a number of repetitions or a duration.
func Sample[N int | int64 | uint64 | time.Duration](few, all N) N {
	if Running() {
		return all
	}
	return few
}

// Only skips the test in "make test": what it shows changes rarely, and showing it takes long.
func Only(t testing.TB) {
	t.Helper()
	if !Running() {
		t.Skip("only make prove runs this test")
	}
}

// Patience is how long a test waits for something that should happen soon, on a machine that is busy with other tests.
// Only a test that fails waits that long.
const Patience = 2 * time.Minute

// Within fails the test if something took longer than its limit. "make test" only logs it: a busy machine is slow.
func Within(t testing.TB, what string, took, limit time.Duration) {
	t.Helper()
	switch {
	case took <= limit:
	case Running():
		t.Errorf("%s took %s, more than %s", what, took, limit)
	default:
		t.Logf("%s took %s; make prove allows %s", what, took, limit)
	}
}

// Seed returns another seed in each run, and logs it. ATRIUM_SEED sets the seed, to repeat a run that failed.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("ATRIUM_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal("ATRIUM_SEED: ", err)
		}
	}
	t.Logf("set ATRIUM_SEED=%d to repeat this run", seed)
	return seed
}
