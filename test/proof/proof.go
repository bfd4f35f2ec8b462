// Package proof says how thorough tests are: make test takes few samples and asserts no durations,
// make prove takes all of them and does.
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

// Sample is few in make test, and all in make prove: how often something is done, or for how long.
func Sample[N int | int64 | uint64 | time.Duration](few, all N) N {
	if Running() {
		return all
	}
	return few
}

// Seed is another one in each run, and tells how to have it again: a run that failed prints it, and
// takes it from ATRIUM_SEED.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("ATRIUM_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal("ATRIUM_SEED: ", err)
		}
	}
	t.Logf("ATRIUM_SEED=%d goes this way again", seed)
	return seed
}
