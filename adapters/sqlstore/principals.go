package sqlstore

import (
	"context"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// principalsFresh is how long a node may go on believing what a key proved: a revocation on
// another node acts within that time.
const principalsFresh = time.Second

// maxPrincipals bounds the memory of the cache, at about half a kilobyte each.
const maxPrincipals = 20_000

// principals remembers for a moment whom a token authenticates. Every change of users,
// memberships or keys through this process forgets it all.
type principals struct {
	mu    sync.RWMutex
	known map[principalKey]knownPrincipal
	era   uint64 // counts forgets: what was read before one is not remembered after it
}

// principalKey always holds the tenant.
type principalKey struct {
	org  identity.OrgID
	hash account.Hash
}

type knownPrincipal struct {
	*account.Principal
	until time.Time
}

func (p *principals) recall(k principalKey) (_ *account.Principal, ok bool, era uint64) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	known, ok := p.known[k]
	return known.Principal, ok && time.Now().Before(known.until), p.era
}

func (p *principals) remember(k principalKey, who *account.Principal, era uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if era != p.era {
		return
	}
	if p.known == nil || len(p.known) >= maxPrincipals {
		p.known = map[principalKey]knownPrincipal{}
	}
	p.known[k] = knownPrincipal{Principal: who, until: time.Now().Add(principalsFresh)}
}

func (p *principals) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = nil
	p.era++
}

// Principal implements ports.Keys. A transaction neither recalls nor remembers: what it did may be
// undone, and nobody else may know it yet.
func (s *Keys) Principal(ctx context.Context, org identity.OrgID, h account.Hash) (*account.Principal, error) {
	cacheKey := principalKey{org: org, hash: h}
	who, ok, era := s.db.principals.recall(cacheKey)
	if ok && s.db.tx == nil {
		return who, nil
	}
	var row struct {
		Key       keyRow        `db:"k"`
		User      userRow       `db:"u"`
		Workspace workspaceRow  `db:"w"`
		Role      identity.Role `db:"role"`
	}
	found, err := s.db.get(ctx, &row, principalQuery, h[:], org)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, identity.ErrUnauthenticated
	}
	who = &account.Principal{
		User: row.User.user(), Key: row.Key.key(), Membership: account.Membership{Workspace: row.Workspace.workspace(), Role: row.Role},
	}
	if s.db.tx == nil {
		s.db.principals.remember(cacheKey, who, era)
	}
	return who, nil
}

var principalQuery = `SELECT ` +
	columns(`t.% AS "k.%"`, []string{"id", "org_id", "workspace_id", "user_id", "name", "ceiling", "hint", "expires_at", "last_used_at", "revoked_at", "created_by", "revision", "created_at", "updated_at"}) + `, ` +
	columns(`u.% AS "u.%"`, []string{"id", "org_id", "email", "name", "operator", "default_workspace_id", "revision", "created_at", "updated_at"}) + `, ` +
	columns(`w.% AS "w.%"`, []string{"id", "org_id", "slug", "name", "revision", "created_at", "updated_at"}) + `,
	COALESCE(m.role, 0) AS role
	FROM api_keys t JOIN users u ON u.id = t.user_id JOIN workspaces w ON w.id = t.workspace_id
	LEFT JOIN memberships m ON m.workspace_id = t.workspace_id AND m.user_id = t.user_id
	WHERE t.hash = ? AND t.org_id = ?`
