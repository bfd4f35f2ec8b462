package contract

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// Atomic is the suite for ports.Atomic.
func Atomic(t *testing.T, open Opener) {
	a, ctx := open(t), t.Context()
	change := func(ctx context.Context, s ports.Stores, by identity.Actor, id prompt.ID, add string) error {
		return appends(ctx, by, id, add)(s)
	}
	description := func(t *testing.T, by identity.Actor, id prompt.ID) string {
		t.Helper()
		got, err := a.Prompts.Get(ctx, by, id)
		must(t, err)
		return got.Description
	}

	for name, fail := range map[string]error{"all is saved": nil, "or nothing is": errBoom} {
		t.Run(name, func(t *testing.T) {
			team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
			by, system := team.Member, identity.System(team.Org, team.Workspace.ID, "contract", fixture.At)
			u, err := account.NewUser(by, "new@"+team.Workspace.Slug+".example", "", false)
			must(t, err)
			var template *prompt.Template
			var k *account.Key
			err = a.Atomic.Atomically(ctx, func(tx ports.Stores) error {
				must(t, tx.Users.Add(ctx, u))
				_, err := tx.Workspaces.Update(ctx, system, team.Workspace.ID, []identity.UserID{u.ID},
					func(w *account.Workspace) error { return w.Admit(system, u.ID, identity.Member) })
				must(t, err)
				k = addKey(t, tx, by, account.KeyDraft{Name: "k"})
				template = fixture.Template(t, tx, by, prompt.Draft{})
				fixture.Version(t, tx, by, template.ID, "text")
				fixture.Activate(t, tx, by, template.ID, prompt.Ref{Number: 1})
				if seen := keptOf(t, tx, by, template.ID); len(seen.Versions) != 1 || len(seen.Ledger) != 1 ||
					len(seen.Events) != 3 {
					t.Errorf("the transaction does not see what it did: %+v", seen)
				}
				if _, err := a.Prompts.Get(ctx, by, template.ID); !errors.Is(err, prompt.ErrNotFound) {
					t.Errorf("others see what is not done yet: %v", err)
				}
				return fail
			})
			wantErr(t, err, fail)
			_, errTemplate := a.Prompts.Get(ctx, by, template.ID)
			_, errKey := a.Keys.Get(ctx, by.Workspace, k.ID)
			_, _, errUser := a.Users.Get(ctx, by.Org, u.ID)
			events := fixture.Events(t, a.Stores, by.Workspace, event.Filter{}, 100)
			if fail == nil {
				must(t, errors.Join(errTemplate, errKey, errUser))
				same(t, "events", len(events), 6)
				return
			}
			if !errors.Is(errTemplate, prompt.ErrNotFound) || !errors.Is(errKey, account.ErrKeyNotFound) ||
				!errors.Is(errUser, account.ErrUserNotFound) || len(events) != 0 {
				t.Fatalf("left over: %v, %v, %v, %d events", errTemplate, errKey, errUser, len(events))
			}
		})
	}
	atomicTries(t, a)
	t.Run("a nested transaction joins the outer one", func(t *testing.T) {
		by := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Member
		template := fixture.Template(t, a.Stores, by, prompt.Draft{})
		err := a.Atomic.Atomically(ctx, func(tx ports.Stores) error {
			must(t, tx.Atomic.Atomically(ctx,
				func(inner ports.Stores) error { return change(ctx, inner, by, template.ID, "lost") }))
			return errBoom
		})
		wantErr(t, err, errBoom)
		require.Equal(t, "description", description(t, by, template.ID), "")
	})
	t.Run("effects run after the commit, in order", func(t *testing.T) {
		by := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Member
		template := fixture.Template(t, a.Stores, by, prompt.Draft{})
		var ran []string
		must(t, a.Atomic.Atomically(ctx, func(tx ports.Stores) error {
			ran = nil
			tx.Atomic.AfterCommit(func() { ran = append(ran, "first "+description(t, by, template.ID)) })
			must(t, change(ctx, tx, by, template.ID, "changed"))
			return tx.Atomic.Atomically(ctx, func(inner ports.Stores) error {
				inner.Atomic.AfterCommit(func() { ran = append(ran, "second "+description(t, by, template.ID)) })
				if len(ran) > 0 {
					t.Error("an effect ran before the commit")
				}
				return nil
			})
		}))
		same(t, "effects", ran, []string{"first changed", "second changed"})
	})
	t.Run("an effect of a transaction that is rolled back never runs", func(t *testing.T) {
		wantErr(t, a.Atomic.Atomically(ctx, func(tx ports.Stores) error {
			tx.Atomic.AfterCommit(func() { t.Error("it ran") })
			return errBoom
		}), errBoom)
	})
	t.Run("outside a transaction an effect runs at once", func(t *testing.T) {
		ran := false
		a.Atomic.AfterCommit(func() { ran = true })
		same(t, "ran", ran, true)
	})
	t.Run("a panic rolls back and releases its locks", func(t *testing.T) {
		by := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Member
		template := fixture.Template(t, a.Stores, by, prompt.Draft{})
		func() {
			defer func() { _ = recover() }()
			_ = a.Atomic.Atomically(ctx, func(tx ports.Stores) error {
				must(t, change(ctx, tx, by, template.ID, "lost"))
				panic("on purpose")
			})
		}()
		must(t, change(ctx, a.Stores, by, template.ID, "kept"))
		require.Equal(t, "description", description(t, by, template.ID), "kept")
	})
	t.Run("a context that ends rolls back", func(t *testing.T) {
		by := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Member
		template := fixture.Template(t, a.Stores, by, prompt.Draft{})
		short, cancel := context.WithCancel(ctx)
		err := a.Atomic.Atomically(short, func(tx ports.Stores) error {
			defer cancel()
			return change(short, tx, by, template.ID, "lost")
		})
		wantErr(t, err, context.Canceled)
		require.Equal(t, "description", description(t, by, template.ID), "")
	})
	t.Run("two transactions that deadlock both succeed", func(t *testing.T) {
		by := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Member
		one, two := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "one"}),
			fixture.Template(t, a.Stores, by, prompt.Draft{Name: "two"})
		done := make(chan error, 2)
		var effects atomic.Int32 // of two commits, after any number of attempts
		var start atomic.Int32   // first changes
		cross := func(first, second prompt.ID) {
			done <- a.Atomic.Atomically(ctx, func(tx ports.Stores) error {
				tx.Atomic.AfterCommit(func() { effects.Add(1) })
				if err := change(ctx, tx, by, first, "a"); err != nil {
					return err
				}
				start.Add(1)
				// for the lock that this one holds
				proof.Poll(ctx, func() bool { return start.Load() > 1 || a.Waiting() })
				return change(ctx, tx, by, second, "b")
			})
		}
		go cross(one.ID, two.ID)
		go cross(two.ID, one.ID)
		must(t, errors.Join(<-done, <-done))
		same(t, "effects", effects.Load(), int32(2))
		for _, id := range []prompt.ID{one.ID, two.ID} {
			if got := description(t, by, id); got != "ab" && got != "ba" {
				t.Errorf("description = %q", got)
			}
		}
	})
}
