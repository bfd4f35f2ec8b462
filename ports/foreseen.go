package ports

import (
	"context"

	"github.com/atrium-hq/atrium/domain/prompt"
)

// ForeseenVersion names the version that a request will read by PromptVersions.GetVersion, before it is known who the
// caller is. A store that has to look up the caller's API key can read both by one statement. GetVersion then uses what
// that statement found, if nothing has changed since. It belongs to one request, and is not safe for concurrent use.
type ForeseenVersion struct {
	Template prompt.ID
	Ref      prompt.Ref
	Found    any // what the store has read; nil for nothing
}

// ForeseenKey is the key under which the context of a request has its *ForeseenVersion.
type ForeseenKey struct{}

// Foreseen returns the version that the request of a context will read; nil if that is not known.
func Foreseen(ctx context.Context) *ForeseenVersion {
	f, _ := ctx.Value(ForeseenKey{}).(*ForeseenVersion)
	return f
}
