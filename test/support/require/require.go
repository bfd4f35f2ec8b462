// Package require has what a test cannot go on without.
package require

import "errors"

// TB is testing.TB, and that of libraries which call tests by themselves.
type TB interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// NoError fails the test at once if err is not nil.
func NoError(t TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ErrorIs fails the test at once if an error is not want, as errors.Is compares them.
func ErrorIs(t TB, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("error = %v, want %v", got, want)
	}
}

// That fails the test at once with what a format and its arguments say, unless ok.
func That(t TB, ok bool, format string, args ...any) {
	t.Helper()
	if !ok {
		t.Fatalf(format, args...)
	}
}

// Equal fails the test at once if two values are not ==.
func Equal[T comparable](t TB, name string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: %+v, want %+v", name, got, want)
	}
}
