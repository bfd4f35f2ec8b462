package assert_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
)

// witness records what is reported.
type witness string

func (w *witness) Helper()                      {}
func (w *witness) Errorf(f string, args ...any) { *w += witness(fmt.Sprintf(f, args...)) }

func TestOnlyWhatDiffersIsReportedWithBothValues(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	for want, check := range map[witness]func(*witness){
		"": func(w *witness) {
			assert.NoError(w, nil)
			assert.ErrorIs(w, fmt.Errorf("wrapped: %w", first), first)
			assert.Equal(w, "n", 1, 1)
			assert.EqualSlice(w, "list", []string{}, nil)
			assert.Contains(w, "text", "abc", "b")
			assert.NoDiff(w, "thing", "")
			assert.That(w, true, "n = %d", 1)
		},
		"error = first":                     func(w *witness) { assert.NoError(w, first) },
		"error = first, want second":        func(w *witness) { assert.ErrorIs(w, first, second) },
		"n = 1":                             func(w *witness) { assert.That(w, false, "n = %d", 1) },
		`n: "a", want ""`:                   func(w *witness) { assert.Equal(w, "n", "a", "") },
		"text: \na\nb\n, want \"\"":         func(w *witness) { assert.Equal(w, "text", "a\nb", "") },
		`list: ["a"], want []`:              func(w *witness) { assert.EqualSlice(w, "list", []string{"a"}, nil) },
		`text: "abc", want "d" in it`:       func(w *witness) { assert.Contains(w, "text", "abc", "d") },
		"thing (-want +got):\n- one\n+ two": func(w *witness) { assert.NoDiff(w, "thing", "- one\n+ two") },
	} {
		var got witness
		if check(&got); got != want {
			t.Errorf("reported %q, want %q", got, want)
		}
	}
}
