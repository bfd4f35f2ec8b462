// Package contract holds the suites that every adapter of a port must pass. Each suite tests the statements in the
// comments of its port, so that all adapters behave alike.
package contract

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// Adapter is what a suite opens: empty stores with two orgs.
type Adapter struct {
	ports.Stores
	Idempotency ports.Idempotency
	Orgs        [2]identity.OrgID

	// Second opens the same data again, as another process does.
	Second func() ports.Stores

	// Notes opens the notes of the same data, each time as another process.
	Notes func() ports.Notes

	// Queue opens the queue of the same data, each time as another process.
	Queue func() ports.JobQueue

	// WebhookQueue opens the queue of the same data, each time as another process.
	WebhookQueue func() ports.WebhookQueue

	// Waiting reports whether a transaction waits for another one.
	Waiting func() bool
}

// beside starts second while the transaction that calls it is open, and returns when second waits for that transaction
// or has ended.
func (a Adapter) beside(t testing.TB, second func() error) (result <-chan error) {
	t.Helper()
	endedErrs := make(chan error, 1)
	go func() { endedErrs <- second() }()
	proof.Eventually(t, "the second transaction waits", func() bool { return len(endedErrs) > 0 || a.Waiting() })
	return endedErrs
}

// Opener opens an adapter that ends with the test.
type Opener func(*testing.T) Adapter

var errBoom = errors.New("boom")

func must(t testing.TB, err error) {
	t.Helper()
	require.NoError(t, err)
}

func wantErr(t testing.TB, got, want error) {
	t.Helper()
	require.ErrorIs(t, got, want)
}

// same fails t if two values differ, apart from their recorded events.
func same(t testing.TB, name string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.IgnoreTypes(event.Log{}), cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("%s (-want +got):\n%s", name, d)
	}
}

// eventsOn lists the events about subject, the latest first.
func eventsOn(t testing.TB, s ports.Stores, ws identity.WorkspaceID, subject string) []event.Event {
	t.Helper()
	return fixture.Events(t, s, ws, event.Filter{Subject: subject}, 100)
}

// kinds returns the types of events.
func kinds(events []event.Event) []string {
	out := make([]string, len(events))
	for i, e := range events {
		out[i] = e.Type
	}
	return out
}

// kept is everything that a store holds about a template.
type kept struct {
	Template *prompt.Template
	Versions []prompt.Version
	Shares   []prompt.Share
	Ledger   []prompt.Activation
	Events   []event.Event
}

// keptOf reads everything that s holds about a template. by must be able to see its drafts.
func keptOf(t testing.TB, s ports.Stores, by identity.Actor, id prompt.ID) (k kept) {
	t.Helper()
	ctx := t.Context()
	var err error
	k.Template, err = s.Prompts.Get(ctx, by, id)
	must(t, err)
	for _, v := range fixture.Pages(t, 100, func(q page.Query) (prompt.VersionPage, error) {
		return s.PromptLists.Versions(ctx, by.Workspace, id, true, q)
	}) {
		_, full, err := s.Prompts.GetVersion(ctx, by, id, prompt.Ref{ID: v.ID})
		must(t, err)
		k.Versions = append(k.Versions, *full)
	}
	k.Shares = fixture.Pages(t, 100, func(q page.Query) (prompt.SharePage, error) {
		return s.PromptLists.Shares(ctx, by.Workspace, id, q)
	})
	k.Ledger = ledger(t, s, by.Workspace, id)
	k.Events = eventsOn(t, s, by.Workspace, string(id))
	return k
}

// ledger lists a template's activations, the latest first.
func ledger(t testing.TB, s ports.Stores, ws identity.WorkspaceID, id prompt.ID) []prompt.Activation {
	t.Helper()
	return fixture.Pages(t, 100, func(q page.Query) (page.Of[prompt.Activation], error) {
		return s.PromptLists.Activations(t.Context(), ws, id, "", q)
	})
}
