package sqlstore

import (
	"sync"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// maxContents bounds the memory of contents, in bytes as stored; decoded they take some twice that.
const maxContents = 16 << 20

// contentKey always holds the tenant. A version changes its revision with all that is remembered of
// it, so that an entry is true for ever, on every node: there is nothing to forget.
type contentKey struct {
	workspace identity.WorkspaceID
	version   prompt.VersionID
	revision  int64
}

// contents remembers versions as they were decoded, since applications read the same few again and
// again. Entries are shared by all who recall them: nobody changes one.
type contents struct {
	mu          sync.Mutex
	young, aged map[contentKey]content
	size        int // of the young, in bytes
}

type content struct {
	version *prompt.Version // without its labels, which other versions may take
	size    int
}

// recall answers nil for what is not remembered.
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

// remember keeps v, which takes size bytes, among the last that were asked for.
func (c *contents) remember(key contentKey, v *prompt.Version, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(key, content{version: v, size: size})
}

// add lets the young age when they fill half of the room, and the aged go.
func (c *contents) add(key contentKey, entry content) {
	if c.young == nil || c.size+entry.size > maxContents/2 {
		c.aged, c.young, c.size = c.young, map[contentKey]content{}, 0
	}
	c.young[key] = entry
	c.size += entry.size
}
