// Package assert reports what a test expected and did not get; the test goes on. Package require ends it instead.
package assert

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// TB is testing.TB, and that of libraries which call tests by themselves.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
}

// NoError reports err if it is not nil.
func NoError(t TB, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("error = %v", err)
	}
}

// ErrorIs reports an error that is not want, as errors.Is compares them.
func ErrorIs(t TB, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("error = %v, want %v", got, want)
	}
}

// That reports what a format and its arguments say, unless ok.
func That(t TB, ok bool, format string, args ...any) {
	t.Helper()
	if !ok {
		t.Errorf(format, args...)
	}
}

// Equal reports a value that is not ==.
func Equal[T comparable](t TB, name string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %s, want %s", name, show(got), show(want))
	}
}

// EqualSlice reports a slice with other elements. An empty one is equal to nil.
func EqualSlice[S ~[]E, E comparable](t TB, name string, got, want S) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %s, want %s", name, show(got), show(want))
	}
}

// Contains reports a string without a part.
func Contains(t TB, name, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%s: %s, want %s in it", name, show(text), show(part))
	}
}

// NoDiff reports a difference that cmp.Diff(want, got) has found.
func NoDiff(t TB, name, diff string) {
	t.Helper()
	if diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// show formats a value, with quotation marks around strings of one line.
func show(v any) string {
	kind := reflect.ValueOf(v).Kind()
	if text := fmt.Sprint(v); kind == reflect.String && strings.Contains(text, "\n") {
		return "\n" + text + "\n"
	}
	if kind == reflect.String || (kind == reflect.Slice && reflect.TypeOf(v).Elem().Kind() == reflect.String) {
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprintf("%+v", v)
}
