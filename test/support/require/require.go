// Package require has what a test cannot go on without.
package require

// TB is testing.TB, and that of libraries which call tests by themselves.
type TB interface {
	Helper()
	Fatal(args ...any)
}

// NoError fails the test at once if err is not nil.
func NoError(t TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
