package ports

import (
	"context"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// PromptFeedback stores what applications report about versions of prompt templates, as sums.
type PromptFeedback interface {
	// AddFeedback adds reports about templates of by's workspace to the tallies of their versions, names and days, in
	// order and as prompt.FeedbackBook decides. It returns an outcome for each; the refusal is prompt.ErrNotFound if
	// the workspace does not have the template. A report whose Key the template has used within
	// prompt.FeedbackKeyLasts is not added again. What is refused is not added, and does not use its Key. Concurrent
	// reports all count. Cached responses stay valid.
	AddFeedback(
		ctx context.Context, by identity.Actor, reports ...prompt.FeedbackReport,
	) ([]prompt.FeedbackOutcome, error)

	// Feedback returns the tallies of a template since a day: the latest day first, then by name, then the highest
	// number, at most limit. An empty name matches all.
	Feedback(ctx context.Context, ws identity.WorkspaceID, id prompt.ID, name string, firstDay prompt.Day, limit int) (
		[]prompt.FeedbackLine, error)

	// FeedbackComments returns the latest prompt.MaxFeedbackComments comments about a template since a day, latest
	// first. An empty name matches all.
	FeedbackComments(ctx context.Context, ws identity.WorkspaceID, id prompt.ID, name string, firstDay prompt.Day) (
		[]prompt.FeedbackComment, error)
}
