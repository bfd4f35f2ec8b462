package sqlstore

import (
	"context"

	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
)

// SealedBy returns the value that the keyring must be able to open; nil if no start has stored one.
func (store *Store) SealedBy(ctx context.Context) (check []byte, err error) {
	_, err = store.Get(ctx, &check, `SELECT check_value FROM keyring WHERE one = 1`)
	return check, err
}

// Orgs returns the permanent identifiers of all orgs that were ever configured, by slug.
func (store *Store) Orgs(ctx context.Context) (map[string]identity.OrgID, error) {
	var rows []struct {
		ID   identity.OrgID `db:"id"`
		Slug string         `db:"slug"`
	}
	err := store.List(ctx, &rows, `SELECT id, slug FROM orgs`)
	ids := map[string]identity.OrgID{}
	for _, r := range rows {
		ids[r.Slug] = r.ID
	}
	return ids, err
}

// EnsureOrgs gives every configured org a permanent identifier, and returns the identifiers by slug.
func (store *Store) EnsureOrgs(ctx context.Context, slugs []string) (map[string]identity.OrgID, error) {
	ids := map[string]identity.OrgID{}
	return ids, store.inTx(ctx, func(tx *Store) error {
		for _, slug := range slugs {
			if _, err := tx.Exec(ctx, `INSERT INTO orgs (id, slug) VALUES (?, ?) ON CONFLICT (slug) DO NOTHING`,
				id.New(identity.OrgPrefix), slug); err != nil {
				return err
			}
		}
		all, err := tx.Orgs(ctx)
		for _, slug := range slugs {
			ids[slug] = all[slug]
		}
		return err
	})
}

// Empty reports whether there is no account yet, as in a new deployment.
func (store *Store) Empty(ctx context.Context) (bool, error) {
	var one int
	found, err := store.Get(ctx, &one, `SELECT 1 FROM users LIMIT 1`)
	return !found, err
}

// OnlyPerson returns the e-mail address of the only person in all orgs; empty if there is no person or more
// than one.
func (store *Store) OnlyPerson(ctx context.Context) (email string, err error) {
	_, err = store.Get(ctx, &email, `SELECT COALESCE(MIN(email), '') FROM users WHERE NOT service HAVING COUNT(*) = 1`)
	return email, err
}
