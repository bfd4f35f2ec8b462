package ports

import (
	"context"

	"github.com/atrium-hq/atrium/domain/prompt"
)

// VersionPrefetch names the version that a request will read by PromptVersions.GetVersion, before it is known who the
// caller is. A store that has to look up the caller's API key can read both by one statement. GetVersion then uses what
// that statement found, if nothing has changed since. It belongs to one request, and is not safe for concurrent use.
type VersionPrefetch struct {
	Template prompt.ID
	Ref      prompt.Ref
	Found    any // what the store has read; nil for nothing
}

// VersionPrefetchKey is the key under which the context of a request has its *VersionPrefetch.
type VersionPrefetchKey struct{}

// VersionPrefetchOf returns the prefetch of the request of a context; nil for none.
func VersionPrefetchOf(ctx context.Context) *VersionPrefetch {
	p, _ := ctx.Value(VersionPrefetchKey{}).(*VersionPrefetch)
	return p
}
