package connection_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/connection"
)

func TestCell(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"a short text stays":              {"é", "é"},
		"a long one is cut by characters": {strings.Repeat("é", 300), strings.Repeat("é", 256)},
		"so is one of wide characters":    {strings.Repeat("𝄞", 300), strings.Repeat("𝄞", 256)},
		"one that fits exactly stays":     {strings.Repeat("x", 256), strings.Repeat("x", 256)},
		"what is not UTF-8 is replaced":   {"a\xffb", "a\uFFFDb"},
		"a character cut in two is left": {strings.Repeat("x", 255) + "é" + strings.Repeat("y", 2000),
			strings.Repeat("x", 255) + "é"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := *connection.Cell(tt.in); got != tt.want || !utf8.ValidString(got) {
				t.Errorf("Cell = %q", got)
			}
		})
	}
}

func TestReport(t *testing.T) {
	r := connection.FailedAt(connection.TLS, connection.TLSUntrusted)
	if r.Failure() != connection.TLSUntrusted || len(r.Warnings()) != 0 || len(r.Checks) != len(connection.Steps()) {
		t.Errorf("%+v", r)
	}
	for _, c := range r.Checks {
		if (c.Step == connection.TLS) != (c.Result == connection.Failed) ||
			(c.Step != connection.TLS && c.Result != connection.Skipped) {
			t.Errorf("%+v", c)
		}
	}
	report := connection.Report{
		Checks: []connection.Check{{Step: connection.Privileges, Result: connection.Warning,
			Code: connection.CredentialCanWrite}}}
	if report.Failure() != "" || !slices.Equal(report.Warnings(), []connection.Code{connection.CredentialCanWrite}) {
		t.Errorf("%+v", report)
	}
}

func TestTableRefsAreOrderedByTheirBytes(t *testing.T) {
	refs := []connection.TableRef{{"", ""}, {"A", "z"}, {"a", "B"}, {"a", "a"}, {"a", "é"}, {"ab", "a"}}
	for i, a := range refs {
		for j, b := range refs {
			if got := a.Compare(b); got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("%v to %v: %d", a, b, got)
			}
		}
	}
}
