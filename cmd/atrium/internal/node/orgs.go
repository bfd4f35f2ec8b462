package node

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/ports"
)

// Orgs holds the current directory of orgs, and the registry and source types of each; a reload replaces them.
type Orgs struct {
	present    atomic.Pointer[identity.Directory]
	registries atomic.Pointer[map[identity.OrgID]*chat.Registry]
	sources    atomic.Pointer[map[identity.OrgID]configs.SourceOffer]
	quotas     atomic.Pointer[map[identity.OrgID]quota.Amounts]
	db         *sqlstore.Store
}

// NewOrgs returns a configuration's orgs. It stores those that are new.
func NewOrgs(ctx context.Context, c configs.Config, db *sqlstore.Store) (*Orgs, error) {
	o := &Orgs{db: db}
	return o, o.load(ctx, c)
}

// load creates the configured orgs that the database lacks and publishes their settings.
func (o *Orgs) load(ctx context.Context, c configs.Config) error {
	slugs := make([]string, len(c.Orgs))
	for i, org := range c.Orgs {
		slugs[i] = org.Slug
	}
	ids, err := o.db.EnsureOrgs(ctx, slugs)
	if err != nil {
		return fmt.Errorf("orgs: %w", err)
	}
	byID := func(slug string) identity.OrgID { return ids[slug] }
	registries := c.Registries(byID)
	o.registries.Store(&registries)
	offers := c.SourceOffers(byID)
	o.sources.Store(&offers)
	limits := c.Quotas(byID)
	o.quotas.Store(&limits)
	o.present.Store(c.Directory(byID))
	return nil
}

// MissingWorkspaces describes the rules about claims and domains whose workspace does not exist. They have no effect
// until it is created.
func MissingWorkspaces(ctx context.Context, d *identity.Directory, workspaces ports.Workspaces) ([]string, error) {
	var missing []string
	for _, org := range d.All() {
		check := func(rule, slug string) error {
			w, err := workspaces.Find(ctx, org.ID, slug)
			switch {
			case slug == "":
			case errors.Is(err, identity.ErrWorkspaceNotFound):
				missing = append(missing, fmt.Sprintf("%s of the org %s names the workspace %s, which "+
					"does not exist: the rule has no effect", rule, org.Slug, slug))
			case err != nil:
				return err
			case !w.DeletedAt.IsZero():
				missing = append(missing, fmt.Sprintf("%s of the org %s names the workspace %s, which was deleted",
					rule, org.Slug, slug))
			}
			return nil
		}
		for i, r := range org.ClaimRules {
			if err := check(fmt.Sprintf("claim_rules[%d]", i), r.Workspace); err != nil {
				return nil, err
			}
		}
		for i, c := range org.Captures {
			if err := check(fmt.Sprintf("email_domains[%d]", i), c.Workspace); err != nil {
				return nil, err
			}
		}
	}
	return missing, nil
}

// Directory returns the current orgs.
func (o *Orgs) Directory() *identity.Directory { return o.present.Load() }

// quota returns the current quotas for an org's workspaces; the defaults if a reload has just removed the org.
func (o *Orgs) quota(org identity.OrgID) quota.Amounts {
	return (*o.quotas.Load())[org].WithDefaults(quota.Default())
}

// registry returns an org's current registry; empty if a reload has just removed the org.
func (o *Orgs) registry(org identity.OrgID) *chat.Registry {
	if r, ok := (*o.registries.Load())[org]; ok {
		return r
	}
	return &chat.Registry{}
}
