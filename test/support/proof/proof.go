// Package proof controls how thorough tests are. "make test" takes few samples and asserts no durations; "make prove"
// takes all samples and asserts durations.
package proof

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// Running reports whether this is make prove, which sets ATRIUM_PROVE.
func Running() bool { return os.Getenv("ATRIUM_PROVE") != "" }

// Sample returns few in "make test" and all in "make prove". It is a number of repetitions or a duration.
func Sample[N int | int64 | uint64 | time.Duration](small, all N) N {
	if Running() {
		return all
	}
	return small
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
func Within(t testing.TB, name string, took, limit time.Duration) {
	t.Helper()
	switch {
	case took <= limit:
	case Running():
		t.Errorf("%s took %s, more than %s", name, took, limit)
	default:
		t.Logf("%s took %s; make prove allows %s", name, took, limit)
	}
}

// Poll calls done until it returns true or ctx ends, and reports whether it returned true. No other test code polls: a
// test that can wait for a channel or a line of output waits for that. It first waits a millisecond between two calls,
// and later 50.
func Poll(ctx context.Context, done func() bool) bool {
	for pause := time.Millisecond; !done(); pause = min(2*pause, 50*time.Millisecond) {
		if ctx.Err() != nil {
			return false
		}
		time.Sleep(pause)
	}
	return true
}

// Eventually waits until condition is true, for at most Patience. If it stays false, the test fails with what is
// expected, and with the state, such as a program's output, as it is then.
func Eventually(t testing.TB, name string, condition func() bool, state ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience) // t.Context has ended during Cleanup
	defer cancel()
	if !Poll(ctx, condition) {
		t.Fatalf("not after %s: %s\n%s", Patience, name, fmt.Sprint(state...))
	}
}

// EventuallyWithin is Eventually, and asserts the duration as Within does. The limit is what users are told: a tenth is
// added for the polling.
func EventuallyWithin(t testing.TB, name string, limit time.Duration, condition func() bool) {
	t.Helper()
	start := time.Now()
	Eventually(t, name, condition)
	Within(t, name, time.Since(start), limit+limit/10)
}

// Await waits until accept returns true for what read returns, and returns that value. A failure shows the last one.
func Await[T any](t testing.TB, name string, read func() T, accept func(T) bool) (value T) {
	t.Helper()
	Eventually(t, name, func() bool { value = read(); return accept(value) }, &lazy[T]{&value})
	return value
}

// lazy is a value that is formatted when a test fails.
type lazy[T any] struct{ value *T }

func (l *lazy[T]) String() string { return fmt.Sprint(*l.value) }

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
