package db

import (
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

const (
	// maxContents bounds the memory of contents, in bytes as stored; decoded they need about twice that.
	maxContents = 16 << 20

	// contentsFresh limits the time in which a half of contents is filled. So a version that no one reads is kept for
	// at most twice that, and memory does not grow for hours until it reaches maxContents.
	contentsFresh = time.Minute
)

// ContentKey always holds the tenant. Every change of the cached content changes the version's revision, so an entry
// stays valid forever, on every node, and needs no invalidation.
type ContentKey struct {
	Workspace identity.WorkspaceID
	Version   prompt.VersionID
	Revision  int64
}

// contents caches decoded versions, since applications read the same few again and again. Entries are shared by
// all readers, who must not change them.
type contents struct {
	mu          sync.Mutex
	young, aged map[ContentKey]content
	size        int       // of the young, in bytes
	begun       time.Time // when the young generation was empty
}

type content struct {
	version *prompt.Version // without its labels, which other versions may take
	size    int
}

// Recall returns the cached version, or nil if not found.
func (c *contents) Recall(key ContentKey, now time.Time) *prompt.Version {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found, ok := c.young[key]; ok {
		return found.version
	}
	found, ok := c.aged[key]
	if ok {
		c.add(key, found, now)
	}
	return found.version
}

// Remember caches v, which needs size bytes, as the most recently used.
func (c *contents) Remember(key ContentKey, v *prompt.Version, size int, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(key, content{version: v, size: size}, now)
}

// add starts a new generation when the young one fills half of the memory or is contentsFresh old, and drops the old
// one.
func (c *contents) add(key ContentKey, entry content, now time.Time) {
	isExpired := now.Sub(c.begun).Abs() >= contentsFresh // the clock may have been set back
	if c.young == nil || isExpired || c.size+entry.size > maxContents/2 {
		c.aged, c.young, c.size, c.begun = c.young, map[ContentKey]content{}, 0, now
	}
	c.young[key] = entry
	c.size += entry.size
}
