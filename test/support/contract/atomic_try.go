package contract

import (
	"context"
	"testing"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// atomicTries runs parts of a transaction, of which some fail. Each part adds a letter to a description.
func atomicTries(t *testing.T, a Adapter) {
	ctx := t.Context()
	type part = func(tx ports.Stores) error
	for name, tt := range map[string]struct {
		run  func(add func(letter string) part, try func(tx ports.Stores, fails bool, parts ...part)) part
		want string
	}{
		"what a part that fails has changed is undone, and the transaction goes on": {
			func(add func(string) part, try func(ports.Stores, bool, ...part)) part {
				return func(tx ports.Stores) error {
					try(tx, false, add("a"))
					try(tx, true, add("b"))
					try(tx, false, add("c"))
					return nil
				}
			}, "ac"},
		"a part that fails takes along the parts within it, also after one of them failed": {
			func(add func(string) part, try func(ports.Stores, bool, ...part)) part {
				return func(tx ports.Stores) error {
					try(tx, false, add("a"))
					try(tx, true, add("b"), func(tx ports.Stores) error {
						try(tx, false, add("c"))
						try(tx, true, add("d"))
						return add("e")(tx)
					})
					return add("f")(tx)
				}
			}, "af"},
		"a part within a part fails alone": {
			func(add func(string) part, try func(ports.Stores, bool, ...part)) part {
				return func(tx ports.Stores) error {
					try(tx, false, add("a"), func(tx ports.Stores) error {
						try(tx, true, add("b"))
						return nil
					}, add("c"))
					return nil
				}
			}, "ac"},
	} {
		t.Run(name, func(t *testing.T) {
			by := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Member
			id := fixture.Template(t, a.Stores, by, prompt.Draft{}).ID
			add := func(letter string) part { return appends(ctx, by, id, letter) }
			try := func(tx ports.Stores, fails bool, parts ...part) {
				err := tx.Atomic.Try(ctx, func(tx ports.Stores) error {
					for _, p := range parts {
						must(t, p(tx))
					}
					if fails {
						return errBoom
					}
					return nil
				})
				if fails {
					wantErr(t, err, errBoom)
				} else {
					must(t, err)
				}
			}
			must(t, a.Atomic.Atomically(ctx, tt.run(add, try)))
			got, err := a.Prompts.Get(ctx, by, id)
			must(t, err)
			require.Equal(t, "description", got.Description, tt.want)
		})
	}
	t.Run("outside of a transaction, a part is one", func(t *testing.T) {
		by := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Member
		id := fixture.Template(t, a.Stores, by, prompt.Draft{}).ID
		wantErr(t, a.Atomic.Try(ctx, func(tx ports.Stores) error {
			must(t, appends(ctx, by, id, "a")(tx))
			return errBoom
		}), errBoom)
		must(t, a.Atomic.Try(ctx, appends(ctx, by, id, "b")))
		got, err := a.Prompts.Get(ctx, by, id)
		must(t, err)
		require.Equal(t, "description", got.Description, "b")
	})
}

// appends adds a text to a template's description.
func appends(ctx context.Context, by identity.Actor, id prompt.ID, text string) func(ports.Stores) error {
	return func(tx ports.Stores) error {
		_, err := tx.Prompts.Update(ctx, by, id, func(p *prompt.Template) error {
			return p.Change(by, nil, prompt.Changes{Description: new(p.Description + text)}, prompt.Recipient{})
		})
		return err
	}
}
