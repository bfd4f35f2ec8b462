package sqlstore

import (
	"sync"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// maxContents bounds the memory of contents, in bytes as stored; decoded they need about twice that.
const maxContents = 16 << 20

// contentKey always holds the tenant. Every change of the cached content changes the version's revision, so an entry
// stays valid forever, on every node, and needs no invalidation.
type contentKey struct {
	workspace identity.WorkspaceID
	version   prompt.VersionID
	revision  int64
}

// contents caches decoded versions, since applications read the same few again and again. Entries are shared by
// all readers, who must not change them.
type contents struct {
	mu          sync.Mutex
	young, aged map[contentKey]content
	size        int // of the young, in bytes
}

type content struct {
	version *prompt.Version // without its labels, which other versions may take
	size    int
}

// recall returns the cached version, or nil if there is none.
func (c *contents) recall(key contentKey) *prompt.Version {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found, ok := c.young[key]; ok {
		return found.version
	}
	found, ok := c.aged[key]
	if ok {
		c.add(key, found)
	}
	return found.version
}

// remember caches v, which needs size bytes, as the most recently used.
func (c *contents) remember(key contentKey, v *prompt.Version, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(key, content{version: v, size: size})
}

// add starts a new generation when the young one fills half of the memory, and drops the old one.
func (c *contents) add(key contentKey, entry content) {
	if c.young == nil || c.size+entry.size > maxContents/2 {
		c.aged, c.young, c.size = c.young, map[contentKey]content{}, 0
	}
	c.young[key] = entry
	c.size += entry.size
}
