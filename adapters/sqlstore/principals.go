package sqlstore

import (
	"context"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// principalsFresh is how long a node trusts a cached credential: a revocation on another node takes effect
// within that time.
const principalsFresh = time.Second

// maxRemembered bounds the memory of a cache; an entry needs about half a kilobyte.
const maxRemembered = 20_000

// ttlCache caches the owners of credentials for principalsFresh. Every change of users, memberships or
// keys through this process clears it, except for recording the use of a key, which may happen thousands
// of times per second.
type ttlCache[K comparable, V any] struct {
	mu    sync.RWMutex
	known map[K]known[V]
	era   uint64 // counts invalidations: a value read before one is not cached after it
}

type known[V any] struct {
	value V
	until time.Time
}

func (r *ttlCache[K, V]) recall(key K) (value V, ok bool, era uint64) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	k, ok := r.known[key]
	return k.value, ok && time.Now().Before(k.until), r.era
}

func (r *ttlCache[K, V]) remember(key K, value V, era uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if era != r.era {
		return
	}
	if r.known == nil || len(r.known) >= maxRemembered {
		r.known = map[K]known[V]{}
	}
	r.known[key] = known[V]{value: value, until: time.Now().Add(principalsFresh)}
}

func (r *ttlCache[K, V]) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known = nil
	r.era++
}

// principalKey always holds the tenant.
type principalKey struct {
	org  identity.OrgID
	hash account.Hash
}

type principalRow struct {
	Key       keyRow        `db:"k"`
	User      userRow       `db:"u"`
	Workspace workspaceRow  `db:"w"`
	Role      identity.Role `db:"role"`
	ByHand    identity.Role `db:"by_hand"`
	Grouped   bool          `db:"grouped"`
}

func (row *principalRow) principal() *account.Principal {
	return &account.Principal{
		User: row.User.user(), Key: row.Key.key(), Membership: account.Membership{Workspace: row.Workspace.workspace(),
			Role: row.Role, ByHand: row.ByHand, Grouped: row.Grouped},
	}
}

// Principal implements ports.Keys. A transaction does not use the cache: its changes may be rolled back, and
// other requests must not see them yet.
func (s *Keys) Principal(ctx context.Context, org identity.OrgID, h account.Hash) (*account.Principal, error) {
	cacheKey := principalKey{org: org, hash: h}
	who, ok, era := s.db.principals.recall(cacheKey)
	if ok && s.db.tx == nil {
		return who, nil
	}
	var row principalRow
	found, err := s.db.forCredentials().get(ctx, &row, principalQuery, h[:], org)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, identity.ErrUnauthenticated
	}
	who = row.principal()
	if s.db.tx == nil {
		s.db.principals.remember(cacheKey, who, era)
	}
	return who, nil
}

var principalQuery = `SELECT ` + principalColumns + principalTables +
	`WHERE t.hash = ? AND t.org_id = ? AND w.deleted_at = 0`

var principalColumns = columns(`t.% AS "k.%"`, []string{"id", "org_id", "workspace_id", "user_id", "service", "name",
	"ceiling", "scopes", "networks", "hint", "expires_at", "last_used_at", "last_used_by", "revoked_at",
	"created_by", "made_by_key", "revision",
	"created_at", "updated_at"}) + `, ` +
	columns(`u.% AS "u.%"`, userNames) + `, ` +
	columns(`w.% AS "w.%"`, []string{"id", "org_id", "slug", "name", "created_by", "revision", "created_at",
		"updated_at", "deleted_at"}) + `,
	COALESCE(m.role, 0) AS role, COALESCE(m.by_hand, 0) AS by_hand, COALESCE(m.grouped, FALSE) AS grouped`

var userNames = []string{"id", "org_id", "email", "email_verified", "email_verified_by", "name", "service", "operator",
	"operator_by_hand", "operator_by", "disabled_at", "default_workspace_id", "revision", "created_at", "updated_at"}

const principalTables = `
	FROM api_keys t JOIN users u ON u.id = t.user_id JOIN workspaces w ON w.id = t.workspace_id
	LEFT JOIN memberships m ON m.workspace_id = t.workspace_id AND m.user_id = t.user_id
	`
