// Package warehouses holds the suites of ports.Warehouse, which every kind of warehouse runs. Package contract does not
// hold them, because the tests of a kind start their own binary as a child process hundreds of times, and each start
// initialises all packages in it.
package warehouses

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
)

// Canary is the password of every user that a harness creates. The suite searches for it in everything that
// comes back.
const Canary = "c4n4ry-pa55word"

// Harness is a kind of warehouse, with a server that holds the suite's sample data in that kind's own types. A
// harness is created once. What its functions start ends with the test that they are given.
type Harness struct {
	Kind connection.Kind
	Open func(*testing.T) ports.Warehouse // is called once for each suite

	// Reader is a target whose user can only read the sample's tables.
	Reader func(*testing.T) ports.Target
	// Writer is a target whose user can write; nil if the kind has none.
	Writer func(*testing.T) ports.Target

	// Tables are all tables that Reader sees, sorted. A RowEstimate of UnknownRows matches any estimate.
	Tables []connection.Table
	// Previews are tables and what Preview returns for three rows, among them
	//   - one with a column of each type, NULLs, and a text longer than MaxCell,
	//   - one with more than MaxColumns columns,
	//   - one whose name needs quoting, with the quote character inside,
	//   - an empty one.
	Previews map[connection.TableRef]connection.Preview

	// Failures produce the failure codes. Several of them may produce the same code.
	Failures []Failure
	// Never maps the codes that the tested server cannot produce to the reasons. Failures and Never together cover
	// connection.Codes.
	Never map[connection.Code]string

	// Sessions counts the server's sessions of Reader's user; nil if the server has no sessions.
	Sessions func(*testing.T) int

	// Slow is a view that takes 30 seconds or longer; zero if the server ends its statement with the connection.
	Slow connection.TableRef
	// SlowRuns reports whether the server works on a statement about Slow.
	SlowRuns func(*testing.T) bool
}

// UnknownRows in a harness matches any estimate of the statistics.
const UnknownRows int64 = -2

// Failure is one way to fail.
type Failure struct {
	Name string // a sentence
	Code connection.Code
	Step connection.Step // the step at which a probe must fail; "" for failures of Call
	// State is the SQLSTATE that a connection.TableUnreadable must have; "" for none.
	State string
	// Target prepares the server, the user or the network such that the call fails.
	Target func(*testing.T) ports.Target
	// Call is the call that fails; nil means Probe.
	Call func(context.Context, ports.Warehouse, ports.Target) error
}

// Warehouse is the suite for ports.Warehouse. Each kind runs it against its real server, both with its driver directly
// and through the child process.
func Warehouse(t *testing.T, harness Harness) {
	// All cases share one warehouse, because after each job a child is started ahead. It does the next case's job. If
	// each case had its own warehouse, no job would need it.
	w := harness.Open(t)
	t.Run("every failure code is tested or listed as impossible for this server", func(t *testing.T) {
		for _, code := range connection.Codes() {
			// See Tunnel, the tests of tokens and of children, and those of Google Sheets.
			if strings.HasPrefix(string(code), "ssh_") || code == connection.TokenUnavailable ||
				code == connection.OutOfMemory || code == connection.ConsentEnded {
				continue
			}
			isStaged := slices.ContainsFunc(harness.Failures, func(f Failure) bool { return f.Code == code })
			if isStaged == (harness.Never[code] != "") {
				t.Errorf("%s: staged %v, said to be impossible %v", code, isStaged, harness.Never[code] != "")
			}
		}
	})
	t.Run("a probe runs every step", func(t *testing.T) { warehouseProbe(t, w, harness) })
	t.Run("tables are listed", func(t *testing.T) { warehouseTables(t, w, harness) })
	t.Run("a table is previewed", func(t *testing.T) { warehousePreviews(t, w, harness) })
	t.Run("the rows of a table are read", func(t *testing.T) { warehouseRows(t, w, harness) })
	for _, f := range harness.Failures {
		t.Run(f.Name, func(t *testing.T) { warehouseFails(t, w, harness, f) })
	}
	t.Run("a context that has ended ends the call", func(t *testing.T) { warehouseEnds(t, w, harness) })
	t.Run("a context that ends ends the statement at the server", func(t *testing.T) {
		warehouseCancels(t, w, harness)
	})
}

func warehouseProbe(t *testing.T, w ports.Warehouse, harness Harness) {
	t.Run("with a user who can only read", func(t *testing.T) {
		target := harness.Reader(t)
		quiet(t, harness)
		var watchedChecks []connection.Check
		target.Watch = func(c connection.Check) { watchedChecks = append(watchedChecks, c) }
		r := w.Probe(t.Context(), target)
		wantSteps(t, r)
		if diff := cmp.Diff(r.Checks[:len(watchedChecks)], watchedChecks); len(watchedChecks) == 0 || diff != "" {
			t.Errorf("watched %d checks, which are not those of the report: %s", len(watchedChecks), diff)
		}
		if r.Failure() != "" || len(r.Warnings()) != 0 {
			t.Errorf("failure %q, warnings %q, want none: %+v", r.Failure(), r.Warnings(), r.Checks)
		}
		if r.Server.Product == "" || r.Server.Version == "" || r.Server.CanWrite {
			t.Errorf("server = %+v, want a product and version that cannot be written to", r.Server)
		}
		tellsNothing(t, r)
	})
	if harness.Writer != nil {
		t.Run("with a user who can write, it warns", func(t *testing.T) {
			r := w.Probe(t.Context(), harness.Writer(t))
			if r.Failure() != "" || !r.Server.CanWrite ||
				!slices.Equal(r.Warnings(), []connection.Code{connection.CredentialCanWrite}) {
				t.Errorf("failure %q, warnings %q, server %+v", r.Failure(), r.Warnings(), r.Server)
			}
		})
	}
}

func warehouseTables(t *testing.T, w ports.Warehouse, harness Harness) {
	target := harness.Reader(t)
	estimates := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".RowEstimate" },
		cmp.Comparer(func(a, b int64) bool { return a == b || a == UnknownRows || b == UnknownRows }))
	t.Run("lists all tables that the user can read, in order", func(t *testing.T) {
		quiet(t, harness)
		got, err := w.Tables(t.Context(), target, connection.TableQuery{Limit: connection.MaxTables})
		must(t, err)
		assert.NoDiff(t, "tables", cmp.Diff(harness.Tables, got, estimates))
	})
	t.Run("finds tables by a part of their name", func(t *testing.T) {
		want := harness.Tables[len(harness.Tables)-1]
		got, err := w.Tables(t.Context(), target, connection.TableQuery{Limit: connection.MaxTables,
			Match: strings.ToUpper(want.Name)})
		must(t, err)
		assert.NoDiff(t, "tables", cmp.Diff([]connection.Table{want}, got, estimates))
	})
	t.Run("lists tables page by page", func(t *testing.T) {
		var all []connection.Table
		for q := (connection.TableQuery{Limit: 2}); ; {
			got, err := w.Tables(t.Context(), target, q)
			must(t, err)
			if len(got) > 2 || len(all) > len(harness.Tables) {
				t.Fatalf("a page of %d, %d tables so far", len(got), len(all))
			}
			all = append(all, got...)
			if len(got) < 2 {
				break
			}
			q.After = got[1].TableRef
		}
		assert.NoDiff(t, "tables", cmp.Diff(harness.Tables, all, estimates))
	})
}

func warehousePreviews(t *testing.T, w ports.Warehouse, harness Harness) {
	target := harness.Reader(t)
	for ref, want := range harness.Previews {
		t.Run(ref.Name, func(t *testing.T) {
			quiet(t, harness)
			got, err := w.Preview(t.Context(), target, connection.PreviewQuery{Table: ref, Rows: 3})
			must(t, err)
			want.RowEstimate = -1 // it was not asked for
			want.Total = max(want.Total, len(want.Columns))
			assert.NoDiff(t, "preview", cmp.Diff(want, got, cmpopts.EquateEmpty()))
			for _, row := range got.Rows {
				if len(row) != len(got.Columns) {
					t.Errorf("a row of %d values for %d columns", len(row), len(got.Columns))
				}
			}
		})
		t.Run(ref.Name+" with no rows", func(t *testing.T) {
			got, err := w.Preview(t.Context(), target, connection.PreviewQuery{Table: ref, Rows: 0})
			must(t, err)
			if d := cmp.Diff(want.Columns, got.Columns); d != "" || len(got.Rows) != 0 {
				t.Errorf("%d rows, columns (-want +got):\n%s", len(got.Rows), d)
			}
		})
		t.Run(ref.Name+" with its row estimate, which is that of the list of tables", func(t *testing.T) {
			tables, err := w.Tables(t.Context(), target, connection.TableQuery{Limit: connection.MaxTables})
			must(t, err)
			listedCount := slices.IndexFunc(tables, func(found connection.Table) bool { return found.TableRef == ref })
			got, err := w.Preview(t.Context(), target, connection.PreviewQuery{Table: ref, Rows: 1, Estimate: true})
			must(t, err)
			if len(got.Rows) > 1 || listedCount < 0 || got.RowEstimate != tables[listedCount].RowEstimate {
				t.Errorf("%d rows and an estimate of %d; tables: %+v", len(got.Rows), got.RowEstimate, tables)
			}
		})
		if want.Truncated {
			t.Run(ref.Name+", whose further columns are found by name", func(t *testing.T) {
				wideColumns(t, w, target, ref, want.Columns[0].Name[:1])
			})
		}
		if len(want.Rows) < 2 && !strings.Contains(ref.Name, " ") {
			continue // two names are enough, one that needs no quoting and one that does
		}
		for mode, other := range map[string]connection.TableRef{
			"with something behind its name":   {Schema: ref.Schema, Name: ref.Name + " --"},
			"with something behind its schema": {Schema: ref.Schema + "; DROP TABLE x", Name: ref.Name},
			"with a NUL in its name":           {Schema: ref.Schema, Name: ref.Name + "\x00"},
			"with text that is not UTF-8":      {Schema: ref.Schema, Name: ref.Name + "\xff"},
			"without a name":                   {Schema: ref.Schema},
			"without a schema":                 {Name: ref.Name},
		} {
			t.Run(ref.Name+" "+mode+" is not found", func(t *testing.T) {
				_, err := w.Preview(t.Context(), target, connection.PreviewQuery{Table: other, Rows: 1})
				wantErr(t, err, connection.TableNotFound)
			})
		}
	}
}

// wideColumns looks for columns of a WidePreview, whose names begin with c, beyond the first ones.
func wideColumns(t *testing.T, w ports.Warehouse, target ports.Target, ref connection.TableRef, c string) {
	t.Helper()
	for name, tt := range map[string]struct {
		q         connection.PreviewQuery
		want      []string // some of them, in this order
		columns   int
		truncated bool
	}{
		"named": {connection.PreviewQuery{Columns: []string{c + "7", c + "249", c + "250", "x" + c}},
			[]string{c + "199", c + "249"}, 201, true},
		"searched, in upper case": {connection.PreviewQuery{Match: "C24"}, []string{c + "24", c + "240"}, 11, false},
		"searched, in lower case": {connection.PreviewQuery{Match: "c24"}, []string{c + "24", c + "240"}, 11, false},
		"searched in vain":        {connection.PreviewQuery{Match: "c24x"}, nil, 0, false},
	} {
		tt.q.Table, tt.q.Rows = ref, 1
		p, err := w.Preview(t.Context(), target, tt.q)
		must(t, err)
		var names []string
		for _, c := range p.Columns {
			names = append(names, c.Name)
		}
		found := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !slices.Contains(tt.want, n) })
		if len(names) != tt.columns || !slices.Equal(found, tt.want) || p.Total != WideColumns ||
			p.Truncated != tt.truncated {
			t.Errorf("%s: %q of %d, truncated %v", name, names, p.Total, p.Truncated)
		}
		if tt.want != nil && (len(p.Rows) != 1 || len(p.Rows[0]) != len(names)) {
			t.Errorf("%s: rows %v", name, p.Rows)
		}
	}
}

func warehouseFails(t *testing.T, w ports.Warehouse, harness Harness, f Failure) {
	target := f.Target(t)
	switch f.Code {
	case connection.NotThisDatabase: // a client of MySQL waits for a web server to speak
		target.Limits.Connect, target.Limits.Total = 5*time.Second, 8*time.Second
	case connection.TLSUnsupported: // a web server may wait for the rest of what it takes for a request
		target.Limits.Connect, target.Limits.Total = 10*time.Second, 30*time.Second
	default:
	}
	start := time.Now()
	if f.Call != nil {
		err := f.Call(t.Context(), w, target)
		assert.ErrorIs(t, err, f.Code)
		if unreadable, ok := errors.AsType[*connection.UnreadableError](err); ok != (f.State != "") ||
			(ok && unreadable.State != f.State) {
			t.Errorf("error = %v, want the SQLSTATE %q", err, f.State)
		}
		tellsNothing(t, err)
	} else {
		r := w.Probe(t.Context(), target)
		wantSteps(t, r)
		for _, c := range r.Checks {
			if c.Result == connection.Failed && (c.Code != f.Code || c.Step != f.Step) {
				t.Errorf("failed with %s at %s, want %s at %s", c.Code, c.Step, f.Code, f.Step)
			}
		}
		if r.Failure() == "" {
			t.Errorf("it passed, want %s at %s", f.Code, f.Step)
		}
		tellsNothing(t, r)
		if f.Step != connection.Read && f.Step != connection.Privileges {
			// A fault of the connection fails every call.
			_, err := w.Tables(t.Context(), target, connection.TableQuery{Limit: 1})
			assert.ErrorIs(t, err, f.Code)
		}
	}
	proof.Within(t, "the failure", time.Since(start), 2*target.Limits.Total+2*time.Second)
}

func warehouseEnds(t *testing.T, w ports.Warehouse, harness Harness) {
	item := harness.Reader(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	start := time.Now()
	if r := w.Probe(ctx, item); r.Failure() == "" {
		t.Error("the probe passed")
	}
	_, err := w.Tables(ctx, item, connection.TableQuery{Limit: 1})
	wantErr(t, err, context.Canceled)
	_, err = w.Preview(ctx, item, connection.PreviewQuery{Table: connection.TableRef{Schema: "a", Name: "b"}, Rows: 1})
	wantErr(t, err, context.Canceled)
	proof.Within(t, "the three calls", time.Since(start), 3*time.Second)
}

// wantSteps checks the form of a report: one check per step, only skipped ones after a failed one, and a code exactly
// for failures and warnings.
func wantSteps(t *testing.T, r connection.Report) {
	t.Helper()
	var steps []connection.Step
	hasFailed := false
	for _, c := range r.Checks {
		steps = append(steps, c.Step)
		if hasFailed && c.Result != connection.Skipped {
			t.Errorf("%s is %s after a failure", c.Step, c.Result)
		}
		hasFailed = hasFailed || c.Result == connection.Failed
		if isReported := c.Result == connection.Failed || c.Result == connection.Warning; isReported != (c.Code != "") {
			t.Errorf("%s is %s with code %q", c.Step, c.Result, c.Code)
		}
		if c.Took < 0 || c.Took > time.Minute {
			t.Errorf("%s took %v", c.Step, c.Took)
		}
	}
	assert.EqualSlice(t, "steps", steps, connection.Steps())
}

// tellsNothing fails t if the result contains the canary.
func tellsNothing(t *testing.T, subject any) {
	t.Helper()
	if text := fmt.Sprintf("%+v %#v", subject, subject); strings.Contains(text, Canary) {
		t.Errorf("it tells the password: %s", text)
	}
}

// nothingLeft fails t if a goroutine beyond those of before does not end.
func nothingLeft(t *testing.T, previous goleak.Option) {
	t.Helper()
	assert.NoError(t, fixture.GoroutinesEnd(previous))
}

// quiet fails t if the rest of the test leaves a goroutine, or a session at the server.
func quiet(t *testing.T, harness Harness) {
	t.Helper()
	previous := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		nothingLeft(t, previous)
		if harness.Sessions == nil {
			return
		}
		proof.Eventually(t, "no session is left at the server", func() bool { return harness.Sessions(t) == 0 })
	})
}
