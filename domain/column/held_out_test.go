package column_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/require"
)

// measured counts what Suggest finds in header sets.
type measured struct{ sets, suggested, right, wanted int }

func (m measured) precision() float64 { return float64(m.right) / float64(m.suggested) }
func (m measured) recall() float64    { return float64(m.right) / float64(m.wanted) }

// measure counts all suggestions for the header sets of a file, also those that a form would not preselect. It calls
// differs for each field of which the suggestion is not the wanted column.
func measure(t *testing.T, file string, differs func(line int, field, got, want string)) (m measured) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for n, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, " | ")
		index := slices.IndexFunc(source.CommonTypes(), func(ty source.Type) bool { return string(ty.Key) == parts[0] })
		if len(parts) != 3 || index < 0 {
			t.Fatalf("%s, line %d is no header set", file, n+1)
		}
		ty, headers, want := source.CommonTypes()[index].Schema(), headersOf(parts[1]), map[string]string{}
		for pair := range strings.SplitSeq(parts[2], "; ") {
			field, header, _ := strings.Cut(pair, "=")
			if !slices.ContainsFunc(headers, func(h column.Header) bool { return h.Name == header }) ||
				!slices.ContainsFunc(ty.Fields, func(f column.Field) bool { return f.Key == field }) {
				t.Fatalf("%s, line %d has no %s or %s", file, n+1, field, header)
			}
			want[field] = header
		}
		got := chosen(column.Suggest(ty, headers, nil))
		m.sets, m.suggested, m.wanted = m.sets+1, m.suggested+len(got), m.wanted+len(want)
		for _, f := range ty.Fields {
			if got[f.Key] != want[f.Key] {
				differs(n+1, f.Key, got[f.Key], want[f.Key])
			} else if want[f.Key] != "" {
				m.right++
			}
		}
	}
	return m
}

func TestSuggestionsAreRightForHeadersThatWereNotTuned(t *testing.T) {
	tunedMeasured := measure(t, "testdata/tuning.txt", func(line int, field, got, want string) {
		t.Logf("tuning.txt, line %d: %s is %q, want %q", line, field, got, want)
	})
	heldOut := measure(t, "testdata/heldout.txt", func(int, string, string, string) {}) // not to be tuned for
	for name, m := range map[string]measured{"tuning": tunedMeasured, "held out": heldOut} {
		t.Logf("%s: %d sets, precision %.3f, recall %.3f of %d fields", name, m.sets, m.precision(), m.recall(),
			m.wanted)
		if m.sets < 30 || m.precision() < 0.98 || m.recall() < 0.90 {
			t.Errorf("%s: want a precision of 0.98 and a recall of 0.90 on 30 sets", name)
		}
	}
}
